// Reads a vector of half-precision numbers from NumPy's .npz file, a zip file with an .npy file for each array.
// Zip: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT, sections 4.3.7, 4.3.12 and 4.3.16.
// Npy: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
"use strict";

const Npz = (() => {
  const MAX_BYTES = 500_000;
  const [END, ENTRY] = [0x06054b50, 0x02014b50];
  const [STORED, DEFLATED] = [0, 8];
  const NPY = /^\x93NUMPY\x01\x00[^]{2}\{'descr': '([^']*)', 'fortran_order': (True|False), 'shape': \(([\d, ]*)\), \} *\n/;

  // A zip file's bytes -> name: {method, packed, size, start}. Throws a RangeError if they are not a zip file.
  function entries(view) {
    let end = view.byteLength - 22; // the last record, before a comment
    while (view.getUint32(end, true) !== END) end--;
    const found = {};
    let at = view.getUint32(end + 16, true);
    for (let n = view.getUint16(end + 10, true); n > 0 && view.getUint32(at, true) === ENTRY; n--) {
      const [nameLength, extra, comment] = [28, 30, 32].map((field) => view.getUint16(at + field, true));
      const name = new TextDecoder().decode(new Uint8Array(view.buffer, at + 46, nameLength));
      const local = view.getUint32(at + 42, true);
      const start = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
      found[name] = {
        method: view.getUint16(at + 10, true), packed: view.getUint32(at + 20, true), size: view.getUint32(at + 24, true), start,
      };
      at += 46 + nameLength + extra + comment;
    }
    return found;
  }

  // Throws a RangeError if there are more bytes than `size`.
  async function inflated(bytes, size) {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
    const whole = new Uint8Array(size);
    let at = 0;
    for (let chunk = await stream.read(); !chunk.done; chunk = await stream.read()) {
      whole.set(chunk.value, at);
      at += chunk.value.length;
    }
    return whole;
  }

  // The content of `name`, or undefined if the file does not hold it; empty if it is too large.
  async function content(file, name) {
    const buffer = await file.arrayBuffer();
    const entry = entries(new DataView(buffer))[name];
    if (!entry) return undefined;
    if (entry.size > MAX_BYTES) return new Uint8Array(); // not the vector, so do not inflate it
    if (![STORED, DEFLATED].includes(entry.method)) throw new RangeError();
    const bytes = new Uint8Array(buffer, entry.start, entry.packed);
    return entry.method === DEFLATED ? inflated(bytes, entry.size) : bytes;
  }

  // The bytes of the vector `name` of `length` half-precision numbers, 2 for each. An error's message says what is wrong.
  async function halves(file, name, length) {
    const size = file.size.toLocaleString("en");
    if (file.size > MAX_BYTES) throw new Error(`it has ${size} bytes, and a file of weights has at most 500,000`);
    const bytes = await content(file, `${name}.npy`).catch(() => {
      throw new Error("it is damaged, or not an .npz file");
    });
    if (!bytes) throw new Error(`it holds no array “${name}”`);
    const [header, dtype, fortran, shape] = NPY.exec(String.fromCharCode(...bytes.subarray(0, 256))) ?? [""];
    const numbers = bytes.subarray(header.length);
    if (dtype !== "<f2" || fortran !== "False" || parseInt(shape) !== length || numbers.length !== 2 * length)
      throw new Error(`“${name}” should be a vector of ${length.toLocaleString("en")} numbers in float16, and it is not`);
    // All five bits of the exponent are set in NaN and in infinity.
    if (numbers.some((byte, i) => i % 2 && (byte & 0x7c) === 0x7c)) throw new Error(`“${name}” contains NaN or infinity`);
    return numbers;
  }

  return { halves };
})();
