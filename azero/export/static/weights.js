// Read a network's weights from the bytes that `azero/export/weights.py` writes; the format is described there.

const UNITS = Array.from({ length: 31 }, (_, exponent) => 2 ** (Math.max(exponent, 1) - 25));

// Return the number that 16 bits hold as IEEE 754 binary16.
function half(bits) {
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  const sign = bits & 0x8000 ? -1 : 1;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 1024 + fraction : fraction) * UNITS[exponent];
}

// Return the weights, a Float32Array, that a Uint8Array holds; `description` comes with them.
export function decodeWeights(bytes, { kind, group, layers }) {
  const buffer = bytes.slice().buffer; // a copy begins at an aligned place, and so does every part of it
  const weights = new Float32Array(layers.reduce((sum, [rows, columns]) => sum + rows * columns, 0));
  let place = 0;
  let next = 0;
  const numbers = (Kind, count) => {
    const found = new Kind(buffer, place, count);
    place += found.byteLength;
    return found;
  };
  for (const [rows, columns] of layers) {
    const count = rows * columns;
    if (rows === 1 || kind === "fp32") {
      weights.set(numbers(Float32Array, count), next);
    } else if (kind === "fp16") {
      const halves = numbers(Uint16Array, count);
      for (let i = 0; i < count; i++) weights[next + i] = half(halves[i]);
    } else {
      const steps = numbers(Float32Array, columns);
      const levels = numbers(Int8Array, count);
      for (let i = 0; i < count; i++) {
        const column = Math.floor(i / (rows * group)) * group + (i % group);
        weights[next + i] = levels[i] * steps[column];
      }
    }
    next += count;
  }
  return weights;
}
