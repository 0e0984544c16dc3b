// The forward pass of a trained model in plain arrays: x is (T, d_model), T rows of d_model numbers.
"use strict";

const Model = (() => {
  const EPS = 1e-5;

  // A half-precision number from its 16 bits: a sign, 5 bits of exponent, 10 of fraction.
  function half(bits) {
    const [sign, exponent, fraction] = [bits >> 15 ? -1 : 1, (bits >> 10) & 31, (bits & 1023) / 1024];
    return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction) : 2 ** -14 * fraction);
  }

  // What the page brings, {shapes: {path: shape}, float16: base64} -> {embeddings: {shared: (vocab, d_model)}, ...}
  function read({ shapes, float16 }) {
    const bits = new DataView(Uint8Array.from(atob(float16), (byte) => byte.charCodeAt(0)).buffer);
    let taken = 0;
    const vector = (length) => Array.from({ length }, () => half(bits.getUint16(2 * taken++, true)));
    const params = {};
    for (const [path, [length, width]] of Object.entries(shapes)) {
      const names = path.split(".");
      const leaf = names.pop();
      const branch = names.reduce((tree, name) => (tree[name] ??= {}), params);
      branch[leaf] = width ? Array.from({ length }, () => vector(width)) : vector(length);
    }
    return params;
  }

  const dot = (a, b) => a.reduce((sum, each, i) => sum + each * b[i], 0);
  const plus = (x, y) => x.map((row, t) => row.map((each, i) => each + y[t][i]));

  // (T, n) times (n, m) plus (m)
  const linear = (x, weight, bias) => x.map((row) => row.reduce(
    (sums, each, i) => sums.map((sum, j) => sum + each * weight[i][j]), bias));

  // (n) -> (n): of what is not allowed nothing, and nothing at all where nothing is
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
      const centred = row.map((each) => each - mean);
      const deviation = Math.sqrt(dot(centred, centred) / row.length + EPS);
      return centred.map((each, i) => (each / deviation) * gain[i] + bias[i]);
    });
  }

  // x (T, d_model) asks memory (T_memory, d_model); may(t) is a row of T_memory booleans. What a silent head has found
  // is zero. -> output (T, d_model), weights (n_heads, T, T_memory)
  function attend(x, memory, params, nHeads, may, silent = new Set()) {
    const [queries, keys, values] = [["query", x], ["key", memory], ["value", memory]].map(
      ([role, rows]) => linear(rows, params[`w_${role}`], params[`b_${role}`]));
    const width = queries[0].length / nHeads;
    const found = Array.from({ length: nHeads }, (_, head) => {
      const [ofQueries, ofKeys, ofValues] = [queries, keys, values].map(
        (rows) => rows.map((row) => row.slice(head * width, (head + 1) * width)));
      const weights = ofQueries.map((query, t) =>
        maskedSoftmax(ofKeys.map((key) => dot(query, key) / Math.sqrt(width)), may(t)));
      const columns = ofValues[0].map((_, i) => ofValues.map((value) => value[i]));
      const output = weights.map((row) => columns.map((column) => (silent.has(head) ? 0 : dot(row, column))));
      return { weights, output };
    });
    const merged = x.map((_, t) => found.flatMap(({ output }) => output[t]));
    return { output: linear(merged, params.w_output, params.b_output), weights: found.map(({ weights }) => weights) };
  }

  function feedForward(x, { w_in, b_in, w_out, b_out }) {
    return linear(linear(x, w_in, b_in).map((row) => row.map((each) => Math.max(each, 0))), w_out, b_out);
  }

  const position = (t, width) => Array.from({ length: width }, (_, i) =>
    (i % 2 ? Math.cos : Math.sin)(t / 10000 ** ((i - (i % 2)) / width)));

  // T tokens -> (T, d_model)
  const embed = (tokens, table) => tokens.map((token, t) =>
    position(t, table[token].length).map((each, i) => each + table[token][i] * Math.sqrt(table[token].length)));

  // T tokens, and for each whether it may be attended to -> memory (T, d_model)
  function encode(params, tokens, kept, nHeads) {
    return Object.values(params.encoder).reduce((x, layer) => {
      const read = norm(plus(x, attend(x, x, layer.attention, nHeads, () => kept).output), layer.norm_attention);
      return norm(plus(read, feedForward(read, layer.feed_forward)), layer.norm_feed_forward);
    }, embed(tokens, params.embeddings.shared));
  }

  // T tokens that are written, begin mark first -> logits (T, vocab), weights of the last layer (n_heads, T, T_memory)
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
    return { logits: x.map((row) => params.embeddings.shared.map((each) => dot(row, each))), weights };
  }

  // The likeliest token, again and again -> tokens without the begin mark, and what `decode` says of them
  function greedy(params, source, kept, nHeads, silent, { bos, eos, longest }) {
    const memory = encode(params, source, kept, nHeads);
    const tokens = [bos];
    let seen;
    do {
      seen = decode(params, tokens, memory, kept, nHeads, silent);
      const scores = seen.logits.at(-1);
      tokens.push(scores.indexOf(Math.max(...scores)));
    } while (tokens.at(-1) !== eos && tokens.length <= longest);
    return { tokens: tokens.slice(1), ...seen };
  }

  return { read, softmax, greedy };
})();
