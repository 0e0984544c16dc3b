"""Code with which a submission finds the channel that its replies go through."""

# It finds the descriptors and the id of the outstanding request in the frames of the worker (`child.py`).
FIND_CHANNEL = """
import json, os, pickle, signal, struct, sys, threading, time

def runner():
    frame = sys._getframe()
    while "outstanding" not in getattr(frame.f_locals.get("self"), "__dict__", {}):
        frame = frame.f_back
    return frame.f_locals["self"]

def outstanding():
    frame = sys._getframe()
    while "request" not in frame.f_locals or "id" not in frame.f_locals["request"]:
        frame = frame.f_back
    return frame.f_locals["request"]["id"]
"""
