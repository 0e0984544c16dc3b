// The model of chapter 12 with plain arrays: from a text to tokens, and from tokens to the scores of the next one.
"use strict";

const Definer = (() => {
  const { dot, linear, softmax } = Model;
  const HEADS = 4;
  const END = 1;
  const CHARACTERS = " ',-:abcdefghijklmnopqrstuvwxyz";

  // The merges "left\tright\n...", the oldest first -> {vocabulary, numbered(text)}
  function tokeniser(merges) {
    const pairs = merges.split("\n");
    const age = new Map(pairs.map((pair, i) => [pair, i]));
    const vocabulary = ["<pad>", "<end>", ...CHARACTERS, ...pairs.map((pair) => pair.replace("\t", ""))];
    const number = new Map(vocabulary.map((token, i) => [token, i]));

    function split(piece) {
      let tokens = [...piece];
      for (;;) {
        const ages = tokens.map((token, i) => age.get(`${token}\t${tokens[i + 1]}`) ?? Infinity);
        const oldest = Math.min(...ages);
        if (oldest === Infinity) return tokens;
        const [left, right] = pairs[oldest].split("\t");
        tokens = tokens.reduce((joined, token) => {
          const joins = token === right && joined.at(-1) === left;
          return joins ? [...joined.slice(0, -1), left + right] : [...joined, token];
        }, []);
      }
    }

    const numbered = (text) => text.match(/ ?[a-z]+|[^a-z]/g).flatMap(split).map((token) => number.get(token));
    return { vocabulary, numbered };
  }

  function rmsNorm(row, gain) {
    const rms = Math.sqrt(dot(row, row) / row.length + Model.EPS);
    return row.map((value, i) => (value / rms) * gain[i]);
  }

  // Turns each pair of neighbours of a head, see `rotate` in chapter 6.
  const rotated = (head, position) => head.map((value, i) => {
    const angle = position / 10000 ** ((i - (i % 2)) / head.length);
    return Math.cos(angle) * value + (i % 2 ? 1 : -1) * Math.sin(angle) * head[i ^ 1];
  });

  const times = (row, weight) => linear([row], weight)[0];
  const plus = (a, b) => a.map((value, i) => value + b[i]);
  const silu = (gate) => gate / (1 + Math.exp(-gate));

  // Attention of the newest row, whose position is the number of keys so far. kept: {keys, values}, each a list of heads
  // for each token; those of the row are appended.
  function attended(row, params, kept) {
    const width = row.length / HEADS;
    const heads = (weight) => {
      const all = times(row, weight);
      return Array.from({ length: all.length / width }, (_, head) => all.slice(head * width, (head + 1) * width));
    };
    const position = kept.keys.length;
    const queries = heads(params.w_query).map((head) => rotated(head, position));
    kept.keys.push(heads(params.w_key).map((head) => rotated(head, position)));
    kept.values.push(heads(params.w_value));
    const perGroup = HEADS / kept.keys[0].length;
    const merged = queries.flatMap((query, head) => {
      const group = Math.floor(head / perGroup);
      const weights = softmax(kept.keys.map((keys) => dot(query, keys[group]) / Math.sqrt(width)));
      return query.map((_, i) => weights.reduce((sum, weight, t) => sum + weight * kept.values[t][group][i], 0));
    });
    return times(merged, params.w_output);
  }

  function gated(row, { w_gate, w_up, w_down }) {
    const up = times(row, w_up);
    return times(times(row, w_gate).map((gate, i) => silu(gate) * up[i]), w_down);
  }

  const emptyCache = ({ layers }) => Object.values(layers).map(() => ({ keys: [], values: [] }));
  const copied = (cache) => cache.map(({ keys, values }) => ({ keys: [...keys], values: [...values] }));

  // Reads one more token -> the scores of the next one (vocab). The cache grows.
  function step(params, token, cache) {
    let row = params.table[token].map((value, _, { length }) => value * Math.sqrt(length));
    for (const [i, layer] of Object.values(params.layers).entries()) {
      row = plus(row, attended(rmsNorm(row, layer.norm_attention), layer.attention, cache[i]));
      row = plus(row, gated(rmsNorm(row, layer.norm_feed_forward), layer.feed_forward));
    }
    const normed = rmsNorm(row, params.norm);
    return params.table.map((embedding) => dot(normed, embedding));
  }

  // Reads the beginning of a text -> {scores, cache} after it
  function begun(params, tokens) {
    const cache = emptyCache(params);
    return { scores: [END, ...tokens].map((token) => step(params, token, cache)).at(-1), cache };
  }

  // Writes after a beginning. choose(scores, n) is its nth token. -> {tokens, scores}, the scores before each token
  function continued(params, { scores, cache }, longest, choose) {
    const kept = copied(cache);
    const written = { tokens: [], scores: [scores] };
    while (written.tokens.length < longest) {
      written.tokens.push(choose(written.scores.at(-1), written.tokens.length));
      if (written.tokens.at(-1) === END || written.tokens.length === longest) break;
      written.scores.push(step(params, written.tokens.at(-1), kept));
    }
    return written;
  }

  return { END, tokeniser, begun, continued };
})();
