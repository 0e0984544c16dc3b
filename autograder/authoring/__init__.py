"""Write exercises, make answer keys from them, and check with kill tables that the keys catch every mistake."""
