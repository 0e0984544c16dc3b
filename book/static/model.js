// The forward pass of a trained model with plain arrays. x is (T, d_model): T rows of d_model numbers.
"use strict";

const Model = (() => {
  const EPS = 1e-5;
  const GROUP = 32;

  // A half-precision number from its 16 bits: 1 bit for the sign, 5 for the exponent, 10 for the fraction.
  function half(bits) {
    const [sign, exponent, fraction] = [bits >> 15 ? -1 : 1, (bits >> 10) & 31, (bits & 1023) / 1024];
    return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction) : 2 ** -14 * fraction);
  }

  // The numbers of {path: shape}, in that order -> {embeddings: {shared: (vocab, d_model)}, ...}
  // A number has 2 bytes, or it is a code of bits[path] bits. Scales follow the codes, each for 32 neighbours of a column.
  function arranged(shapes, bytes, bits = {}) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let at = 0;
    const vector = (length) => Array.from({ length }, () => half(view.getUint16((at += 2) - 2, true)));
    const matrix = (length, width) => Array.from({ length }, () => vector(width));

    function quantised(length, width, nBits) {
      const start = at;
      at += Math.ceil((nBits * length * width) / 8);
      const scales = matrix(Math.ceil(length / GROUP), width);
      return Array.from({ length }, (_, row) => scales[Math.floor(row / GROUP)].map((scale, column) => {
        const bit = nBits * (row * width + column);
        const place = start + (bit >> 3);
        const code = ((bytes[place] << 8) | bytes[place + 1]) >> (16 - nBits - (bit & 7));
        return ((code & (2 ** nBits - 1)) - 2 ** (nBits - 1)) * scale;
      }));
    }

    const params = {};
    for (const [path, [length, width]] of Object.entries(shapes)) {
      const names = path.split(".");
      const leaf = names.pop();
      const branch = names.reduce((tree, name) => (tree[name] ??= {}), params);
      branch[leaf] = bits[path] ? quantised(length, width, bits[path]) : width ? matrix(length, width) : vector(length);
    }
    return params;
  }

  // {shapes, bits, base64}, as in the page
  const read = ({ shapes, bits, base64 }) =>
    arranged(shapes, Uint8Array.from(atob(base64), (byte) => byte.charCodeAt(0)), bits);

  const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
  const plus = (x, y) => x.map((row, t) => row.map((value, i) => value + y[t][i]));

  // (T, n) times (n, m) plus (m), which may be missing
  const linear = (x, weight, bias = weight[0].map(() => 0)) => x.map((row) => {
    const sums = [...bias];
    for (const [i, value] of row.entries()) {
      const weights = weight[i];
      for (let j = 0; j < sums.length; j++) sums[j] += value * weights[j];
    }
    return sums;
  });

  // (n) -> (n): zero where a key is not allowed, and all zeros if none is
  function maskedSoftmax(scores, allowed) {
    const most = Math.max(...scores.filter((_, j) => allowed[j]));
    const strengths = scores.map((score, j) => (allowed[j] ? Math.exp(score - most) : 0));
    const sum = strengths.reduce((a, b) => a + b, 0);
    return strengths.map((strength) => strength / (sum || 1));
  }

  const softmax = (scores) => maskedSoftmax(scores, scores.map(() => true));

  function norm(x, { gain, bias }) {
    return x.map((row) => {
      const mean = row.reduce((a, b) => a + b, 0) / row.length;
      const centred = row.map((value) => value - mean);
      const deviation = Math.sqrt(dot(centred, centred) / row.length + EPS);
      return centred.map((value, i) => (value / deviation) * gain[i] + bias[i]);
    });
  }

  // Queries from x (T, d_model), keys and values from memory (T_memory, d_model); may(t) is a row of T_memory booleans.
  // The output of a silent head is zero. -> output (T, d_model), weights (n_heads, T, T_memory)
  function attend(x, memory, params, nHeads, may, silent = new Set()) {
    const [queries, keys, values] = [["query", x], ["key", memory], ["value", memory]].map(
      ([role, rows]) => linear(rows, params[`w_${role}`], params[`b_${role}`]));
    const width = queries[0].length / nHeads;
    const heads = Array.from({ length: nHeads }, (_, head) => {
      const [ofQueries, ofKeys, ofValues] = [queries, keys, values].map(
        (rows) => rows.map((row) => row.slice(head * width, (head + 1) * width)));
      const weights = ofQueries.map((query, t) =>
        maskedSoftmax(ofKeys.map((key) => dot(query, key) / Math.sqrt(width)), may(t)));
      const columns = ofValues[0].map((_, i) => ofValues.map((value) => value[i]));
      const output = weights.map((row) => columns.map((column) => (silent.has(head) ? 0 : dot(row, column))));
      return { weights, output };
    });
    const merged = x.map((_, t) => heads.flatMap(({ output }) => output[t]));
    return { output: linear(merged, params.w_output, params.b_output), weights: heads.map(({ weights }) => weights) };
  }

  function feedForward(x, { w_in, b_in, w_out, b_out }) {
    return linear(linear(x, w_in, b_in).map((row) => row.map((value) => Math.max(value, 0))), w_out, b_out);
  }

  const position = (t, width) => Array.from({ length: width }, (_, i) =>
    (i % 2 ? Math.cos : Math.sin)(t / 10000 ** ((i - (i % 2)) / width)));

  // T tokens -> (T, d_model)
  const embed = (tokens, table) => tokens.map((token, t) =>
    position(t, table[token].length).map((value, i) => value + table[token][i] * Math.sqrt(table[token].length)));

  // T tokens, and for each token whether others may attend to it -> memory (T, d_model)
  function encode(params, tokens, kept, nHeads) {
    return Object.values(params.encoder).reduce((x, layer) => {
      const read = norm(plus(x, attend(x, x, layer.attention, nHeads, () => kept).output), layer.norm_attention);
      return norm(plus(read, feedForward(read, layer.feed_forward)), layer.norm_feed_forward);
    }, embed(tokens, params.embeddings.shared));
  }

  // T tokens written so far, with the begin mark first -> logits (T, vocab), weights of the last layer (n_heads, T, T_memory)
  function decode(params, tokens, memory, kept, nHeads, silent) {
    let x = embed(tokens, params.embeddings.shared);
    let weights;
    for (const layer of Object.values(params.decoder)) {
      const past = attend(x, x, layer.attention, nHeads, (t) => tokens.map((_, s) => s <= t));
      x = norm(plus(x, past.output), layer.norm_attention);
      const recalled = attend(x, memory, layer.cross_attention, nHeads, () => kept, silent);
      x = norm(plus(x, recalled.output), layer.norm_cross_attention);
      x = norm(plus(x, feedForward(x, layer.feed_forward)), layer.norm_feed_forward);
      weights = recalled.weights;
    }
    return { logits: x.map((row) => params.embeddings.shared.map((embedding) => dot(row, embedding))), weights };
  }

  // The likeliest token at each step -> tokens without the begin mark, and the result of `decode` for them
  function greedy(params, source, kept, nHeads, silent, { bos, eos, longest }) {
    const memory = encode(params, source, kept, nHeads);
    const tokens = [bos];
    let decoded;
    do {
      decoded = decode(params, tokens, memory, kept, nHeads, silent);
      const scores = decoded.logits.at(-1);
      tokens.push(scores.indexOf(Math.max(...scores)));
    } while (tokens.at(-1) !== eos && tokens.length <= longest);
    return { tokens: tokens.slice(1), ...decoded };
  }

  // One more token of a text for a stack of layers without memory -> logits (vocab)
  // inputs: for each layer its inputs at the older tokens; the new one is appended.
  function stackStep(params, tokens, inputs, nHeads) {
    let row = embed(tokens, params.embeddings.shared).at(-1);
    for (const [index, layer] of Object.values(params.layers).entries()) {
      inputs[index].push(row);
      const read = attend([row], inputs[index], layer.attention, nHeads, () => tokens.map(() => true)).output;
      const between = norm(plus([row], read), layer.norm_attention);
      [row] = norm(plus(between, feedForward(between, layer.feed_forward)), layer.norm_feed_forward);
    }
    return params.embeddings.shared.map((embedding) => dot(row, embedding));
  }

  // The distribution that top-p sampling draws from; see `top_p` in chapter 10
  function topP(logits, p, temperature) {
    const shares = softmax(logits.map((logit) => logit / temperature));
    const kept = shares.map(() => 0);
    let sum = 0;
    for (const token of shares.map((_, i) => i).sort((a, b) => shares[b] - shares[a] || a - b)) {
      if (sum >= p) break;
      kept[token] = shares[token];
      sum += shares[token];
    }
    return kept.map((share) => share / sum);
  }

  // The likeliest token besides this one
  const nextLikeliest = (shares, token) =>
    shares.reduce((best, share, i) => (i !== token && share > shares[best] ? i : best), token ? 0 : 1);

  return { EPS, read, arranged, dot, linear, softmax, nextLikeliest, greedy, stackStep, topP };
})();
