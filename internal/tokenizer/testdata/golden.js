// golden.js writes the tokenizers and the golden ids of this folder with Hugging Face's own library:
//
//	npm install --ignore-scripts tokenizers@0.23.2
//	node golden.js OUT [RANDOM-TEXTS [MINILM-TOKENIZER.JSON]]
//
// Special tokens are renamed before the library sees a file, so that texts cannot spell them (the library's own option
// for this, encode_special_tokens, is not reachable from here).
const fs = require('fs'),
  path = require('path'),
  { Tokenizer } = require('tokenizers');
const [out, random, minilm] = [process.argv[2], Number(process.argv[3] || 40), process.argv[4]];

const corpus = `The retrieval step found two passages about Zürich and one about the river Limmat; neither of them answers it's 1,234 questions.
Le café où l'élève déjeune est fermé à cause d'une grève générale. Die Straße führt über die Brücke zum größten Marktplatz.
Модель отвечает на вопросы по документам и находит ошибки в тексте. 東京は日本の首都です。北京是中国的首都。 대한민국의 수도는 서울이다.
We'll see that they've been there, I'm sure, don't you think? for (int i = 0; i < 10; i++) { return x[i]; } unbelievable tokenization international`;

const fixed = [
  '',
  ' ',
  '  \t\n ',
  'a',
  'Hello, world!',
  ' leading and trailing ',
  'two  spaces   three\n\nnewlines\r\n\ttab',
  "it's we'll THEY'VE don't I'M 'tis",
  'naïve café Zürich ÅNGSTRÖM e\u0301a\u0300 ñ',
  'İstanbul ΣΊΣΥΦΟΣ ẞ ǅ ŉ',
  '東京は日本の首都です。北京是中国的首都',
  '대한민국의 수도는 서울이다',
  '\u1112\u1161\u11ab',
  'Модель отвечает на вопросы',
  'שלום עולם مرحبا بالعالم',
  'हिन्दी में ก็ ไทย',
  '👍🏽 👨‍👩‍👧 🇨🇭 🫠 ☕️',
  'a\u0000b\u0001c\u007fd\u0085e\u00adf\u200bg\ufeffh\ufffdi',
  'ﬁne ＡＢＣ １２３ ½ ² ℌ ① ㌀ … ™',
  'x\u00a0y\u2003z\u3000w\u2028v\u1680u',
  '[SEP] [CLS] <s> </s> <unk> [UNK] <pad> <mask> [MASK] <|endoftext|>',
  '<extra>  <extra>x x<extra> <EXTRA>\u00a0',
  '▁a ▁ ▁▁b Ġ ##ing',
  '1234567 12.5e-3 ٣٤ 五',
  'for (int i = 0; i < 10; i++) {\n    return x[i];\n}',
  '!!!???...,,,;;;---___',
  '$100 €5 +1 =2 ^3 `q` |p| ~t',
  'unbelievable'.repeat(20),
  'ab'.repeat(300),
  '字'.repeat(120),
  ' '.repeat(70) + 'x',
  'é'.repeat(99) + ' ' + 'e'.repeat(101),
  'a_b-c/d\\e@f.com https://example.org/?q=1&r=2',
  'The retrieval step found two passages about Zürich',
  '\u{1d400}\u{2b820}\u{2b920}\u{20000} 𐍈',
  'a\n',
  '\na',
  'a \n b',
  '\r\n\r\n x',
  '<0x41> <0x0A>',
  'end ',
  'e\u0323\u0302\u0301 o\u0328\u0304 \u0344 \u0903',
  'Whitespace\v\f\u001c\u001d\u001e\u001fseparated',
  '\u2581\u200c\u200d\u200e\u200f',
  'ＦＵＬＬ　ｗｉｄｔｈ',
  'A\u030A \u212B Å',
  '한국어 텍스트',
  '\ud55c\uad6d'.normalize('NFD'),
  '   x',
  'x   ',
  'ab  cd\t\tef',
];
let seed = 42;
const draw = (n) => (((seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32) * n) | 0;
const alphabet = [
  ...'aeinstrhlodumc  EAST\n\t \u00a0.,;\'"!?-_()0129éüßçñÀ\u0301\u0308да東京日本は대한👍🏽\u200dﬁＡ½▁<>/[]|\u0000\u2028',
];
const words = corpus.split(/\s+/);
const randomText = () =>
  Array.from({ length: 1 + draw(14) }, () =>
    draw(2)
      ? words[draw(words.length)] + (draw(3) ? ' ' : '')
      : Array.from({ length: draw(6) }, () => alphabet[draw(alphabet.length)]).join(''),
  ).join('');
const texts = [...fixed, ...Array.from({ length: random }, randomText)];

// A plain training of merges, and of pieces by frequency: enough to have vocabularies of a real shape.
function train(words, count, prefix = '', suffix = '') {
  let list = words.map((w) => {
    const s = [...w].map((c, i) => (i ? prefix + c : c));
    if (s.length) s[s.length - 1] += suffix;
    return s;
  });
  const vocab = [...new Set(list.flat())].sort(),
    merges = [],
    known = new Set(vocab);
  while (merges.length < count) {
    const pairs = new Map();
    for (const s of list)
      for (let i = 0; i + 1 < s.length; i++) {
        const k = s[i] + ' ' + s[i + 1];
        pairs.set(k, (pairs.get(k) || 0) + 1);
      }
    const best = [...pairs].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))[0];
    if (!best) break;
    const [a, b] = best[0].split(' '),
      whole = a + b.slice(prefix.length);
    merges.push(best[0]);
    if (!known.has(whole)) {
      known.add(whole);
      vocab.push(whole);
    }
    for (const s of list)
      for (let i = 0; i + 1 < s.length; i++) if (s[i] === a && s[i + 1] === b) s.splice(i, 2, whole);
  }
  return { vocab, merges };
}
const byteRune = (b) =>
  b <= 0x20 ? 0x100 + b : b >= 0x7f && b <= 0xa0 ? 0x100 + b - 0x7f + 0x21 : b === 0xad ? 0x143 : b;
const bytes = (w) => [...Buffer.from(w)].map((b) => String.fromCodePoint(byteRune(b))).join('');
const ids = (list) => Object.fromEntries([...new Set(list)].map((t, i) => [t, i]));
const bytePieces = corpus.match(/'s|'ll|'ve| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+/gu).map(bytes);
const allBytes = Array.from({ length: 256 }, (_, b) => String.fromCodePoint(byteRune(b)));
const fallback = Array.from(
  { length: 256 },
  (_, b) => `<0x${b.toString(16).toUpperCase().padStart(2, '0')}>`,
);
function pieces(text, extra, characters = true) {
  const count = new Map();
  for (const w of text.split(/\s+/))
    for (let i = 0, c = [...('▁' + w)]; i < c.length; i++)
      for (let j = i + 1; j <= Math.min(c.length, i + 8); j++) {
        const p = c.slice(i, j).join('');
        count.set(p, (count.get(p) || 0) + 1);
      }
  const list = [...count]
    .filter(([p, n]) => n > 1 || (characters && [...p].length === 1))
    .sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
    .slice(0, 500);
  return [
    ...extra.map((p) => [p, 0]),
    ...list.map(([p, n], i) => [p, Math.log(n) - 9 - i * 1e-4 + [...p].length * 0.7]),
  ];
}

// charsmap builds the double array of SentencePiece's normalization table.
function charsmap(map) {
  const texts = [],
    trie = {};
  for (const [from, to] of Object.entries(map)) {
    let node = trie;
    for (const b of Buffer.from(from)) node = node[b] ??= {};
    node.value = texts.length;
    texts.push(...Buffer.from(to), 0);
  }
  const units = [0],
    used = new Set([0]),
    bases = new Set();
  let low = 1;
  (function place(node, at, label) {
    const keys = Object.keys(node)
      .filter((k) => k !== 'value')
      .map(Number);
    let base = low++;
    while (![0, ...keys].every((k) => !used.has(base ^ k)) || bases.has(base)) base++;
    bases.add(base);
    for (const k of ['value' in node ? 0 : -1, ...keys]) if (k >= 0) used.add(base ^ k);
    units[at] = (((at ^ base) << 10) | ('value' in node ? 256 : 0) | label) >>> 0;
    if ('value' in node) units[base] = (node.value | (1 << 31)) >>> 0;
    for (const k of keys) place(node[k], base ^ k, k);
  })(trie, 0, 0);
  const head = Buffer.alloc(4 + 1024 * ((Math.max(...used, ...bases) >> 8) + 1));
  head.writeUInt32LE(head.length - 4);
  for (const i of used) head.writeUInt32LE((units[i] || 0) >>> 0, 4 + 4 * i);
  return Buffer.concat([head, Buffer.from(texts)]).toString('base64');
}
const table = charsmap({
  ﬁ: 'fi',
  Ａ: 'A',
  Ｂ: 'B',
  ｗ: 'w',
  '１': '1',
  '½': '1⁄2',
  '\u00a0': ' ',
  '\u3000': ' ',
  '\t': ' ',
  '\n': ' ',
  'e\u0301': 'é',
  é: 'é',
  '…': '...',
  '\u200b': '',
  '\u0001': '',
  '㌀': 'アパート',
  '™': 'TM',
  '\u2028': ' ',
});

const special = (list, from = 0) =>
  list.map((content, i) => ({
    id: from + i,
    content,
    single_word: false,
    lstrip: content.includes('mask'),
    rstrip: false,
    normalized: false,
    special: true,
  }));
const added = (id, content, options) => ({
  id,
  content,
  single_word: false,
  lstrip: false,
  rstrip: false,
  normalized: true,
  special: false,
  ...options,
});
const place = (id, type_id = 0) =>
  id === 'A' || id === 'B' ? { Sequence: { id, type_id } } : { SpecialToken: { id, type_id } };
const template = (single, pair, tokens) => ({
  type: 'TemplateProcessing',
  single,
  pair,
  special_tokens: Object.fromEntries(
    Object.entries(tokens).map(([id, n]) => [id, { id, ids: [n], tokens: [id] }]),
  ),
});
const berts = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]'],
  robertas = ['<s>', '<pad>', '</s>', '<unk>', '<mask>'];
const bertTemplate = (cls, sep) =>
  template(
    [place('[CLS]'), place('A'), place('[SEP]')],
    [place('[CLS]'), place('A'), place('[SEP]'), place('B', 1), place('[SEP]', 1)],
    { '[CLS]': cls, '[SEP]': sep },
  );
const robertaTemplate = template(
  [place('<s>'), place('A'), place('</s>')],
  [place('<s>'), place('A'), place('</s>'), place('</s>'), place('B'), place('</s>')],
  { '<s>': 0, '</s>': 2 },
);
const file = (parts) => ({
  version: '1.0',
  truncation: null,
  padding: null,
  added_tokens: [],
  normalizer: null,
  pre_tokenizer: null,
  post_processor: null,
  decoder: null,
  ...parts,
});
const bpe = (vocab, merges, options) => ({
  type: 'BPE',
  dropout: null,
  unk_token: null,
  continuing_subword_prefix: null,
  end_of_word_suffix: null,
  fuse_unk: false,
  byte_fallback: false,
  ignore_merges: false,
  vocab,
  merges,
  ...options,
});

const lower = train(
  corpus
    .toLowerCase()
    .normalize('NFD')
    .replace(/\p{Mn}/gu, '')
    .split(/\s+|(?=[\p{P}])|(?<=[\p{P}])/u),
  200,
  '##',
);
const cased = train(corpus.split(/\s+|(?=[\p{P}])|(?<=[\p{P}])/u), 200, '##');
const byte = train(bytePieces, 300),
  clip = train(corpus.toLowerCase().split(/\s+/), 200, '', '</w>'),
  marked = train(
    corpus.split(/\s+/).map((w) => '▁' + w),
    300,
  );
const llama3 =
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
const plainBPE = (pre_tokenizer, normalizer = null) =>
  file({
    normalizer,
    pre_tokenizer,
    model: bpe(
      ids(['<unk>', ...cased.vocab.filter((t) => !t.startsWith('##')), ...marked.vocab]),
      marked.merges,
      { unk_token: '<unk>' },
    ),
    added_tokens: special(['<unk>']),
  });
const sequence = (key, ...list) => ({ type: 'Sequence', [key]: list });
const isolate = (behavior, pattern, invert = false) => ({ type: 'Split', pattern, behavior, invert });
const byteVocab = ids([...robertas, ...allBytes, ...byte.vocab]),
  byteCount = Object.keys(byteVocab).length;
const markedVocab = ids(['<unk>', '<s>', '</s>', ...fallback, ...marked.vocab]);
const xlm = pieces(corpus, ['<s>', '<pad>', '</s>', '<unk>', '<mask>']),
  deberta = pieces(corpus, ['[PAD]', '[CLS]', '[SEP]', '[UNK]']);
const t5 = pieces(corpus.toLowerCase(), ['<pad>', '</s>', '<unk>', ...fallback], false);

const files = {
  'wordpiece-uncased': file({
    added_tokens: special(berts),
    normalizer: {
      type: 'BertNormalizer',
      clean_text: true,
      handle_chinese_chars: true,
      strip_accents: null,
      lowercase: true,
    },
    pre_tokenizer: { type: 'BertPreTokenizer' },
    post_processor: bertTemplate(2, 3),
    model: {
      type: 'WordPiece',
      unk_token: '[UNK]',
      continuing_subword_prefix: '##',
      max_input_chars_per_word: 100,
      vocab: ids([...berts, ...lower.vocab]),
    },
  }),
  'wordpiece-cased': file({
    added_tokens: [...special(berts), added(5, '<extra>', { normalized: false, single_word: true })],
    normalizer: {
      type: 'BertNormalizer',
      clean_text: false,
      handle_chinese_chars: false,
      strip_accents: false,
      lowercase: false,
    },
    pre_tokenizer: { type: 'BertPreTokenizer' },
    post_processor: { type: 'BertProcessing', sep: ['[SEP]', 3], cls: ['[CLS]', 2] },
    model: {
      type: 'WordPiece',
      unk_token: '[UNK]',
      continuing_subword_prefix: '##',
      max_input_chars_per_word: 20,
      vocab: ids([...berts, '<extra>', ...cased.vocab]),
    },
  }),
  'bpe-roberta': file({
    added_tokens: special(robertas),
    pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true },
    post_processor: {
      type: 'RobertaProcessing',
      sep: ['</s>', 2],
      cls: ['<s>', 0],
      trim_offsets: true,
      add_prefix_space: false,
    },
    model: bpe(byteVocab, byte.merges),
  }),
  'bpe-modernbert': file({
    added_tokens: [
      ...special(robertas),
      ...[8, 4, 3, 2].map((n, i) => added(byteCount + i, ' '.repeat(n))),
      added(byteCount + 4, '<extra>', { lstrip: true, rstrip: true }),
    ],
    normalizer: { type: 'NFC' },
    pre_tokenizer: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true },
    post_processor: robertaTemplate,
    model: bpe(
      byteVocab,
      byte.merges.map((m) => m.split(' ')),
    ),
  }),
  'bpe-llama3': file({
    added_tokens: special(robertas),
    pre_tokenizer: sequence('pretokenizers', isolate('Isolated', { Regex: llama3 }), {
      type: 'ByteLevel',
      add_prefix_space: false,
      trim_offsets: true,
      use_regex: false,
    }),
    post_processor: sequence(
      'processors',
      { type: 'ByteLevel', add_prefix_space: true, trim_offsets: false, use_regex: true },
      robertaTemplate,
    ),
    model: bpe(
      byteVocab,
      byte.merges.filter((m, i) => i % 5),
      { ignore_merges: true },
    ),
  }),
  'bpe-llama2': file({
    added_tokens: special(['<unk>', '<s>', '</s>']),
    normalizer: sequence(
      'normalizers',
      { type: 'Prepend', prepend: '▁' },
      { type: 'Replace', pattern: { String: ' ' }, content: '▁' },
    ),
    post_processor: template(
      [place('<s>'), place('A')],
      [place('<s>'), place('A'), place('<s>', 1), place('B', 1)],
      { '<s>': 1 },
    ),
    model: bpe(markedVocab, marked.merges, { unk_token: '<unk>', fuse_unk: true, byte_fallback: true }),
  }),
  'bpe-clip': file({
    added_tokens: special(['<unk>']),
    normalizer: sequence(
      'normalizers',
      { type: 'NFC' },
      { type: 'Replace', pattern: { Regex: '\\s+' }, content: ' ' },
      { type: 'Lowercase' },
    ),
    pre_tokenizer: sequence(
      'pretokenizers',
      { type: 'Whitespace' },
      { type: 'Digits', individual_digits: true },
    ),
    model: bpe(ids(['<unk>', ...clip.vocab]), clip.merges, {
      unk_token: '<unk>',
      end_of_word_suffix: '</w>',
    }),
  }),
  'bpe-prefix': file({
    added_tokens: special(['<unk>']),
    normalizer: { type: 'NFKD' },
    pre_tokenizer: sequence(
      'pretokenizers',
      { type: 'WhitespaceSplit' },
      { type: 'Punctuation', behavior: 'Contiguous' },
      { type: 'Digits', individual_digits: false },
    ),
    model: bpe(ids(['<unk>', ...cased.vocab]), cased.merges, {
      unk_token: '<unk>',
      fuse_unk: true,
      continuing_subword_prefix: '##',
    }),
  }),
  'split-previous': plainBPE(isolate('MergedWithPrevious', { Regex: '\\d|\\w[^\\w]' })),
  'split-next': plainBPE(isolate('MergedWithNext', { String: 'e' })),
  'split-contiguous': plainBPE(
    sequence('pretokenizers', isolate('Contiguous', { String: 'a' }), {
      type: 'CharDelimiterSplit',
      delimiter: 'o',
    }),
  ),
  'split-inverted': plainBPE(
    sequence('pretokenizers', isolate('Removed', { Regex: '[\\w\\s]+|\\S' }, true), {
      type: 'Punctuation',
      behavior: 'MergedWithNext',
    }),
    { type: 'StripAccents' },
  ),
  'metaspace-first': plainBPE(
    { type: 'Metaspace', replacement: '▁', prepend_scheme: 'first', split: true },
    { type: 'NFD' },
  ),
  'metaspace-never': plainBPE(
    { type: 'Metaspace', replacement: '▁', prepend_scheme: 'never', split: false },
    { type: 'Strip', strip_left: true, strip_right: false },
  ),
  'unigram-xlm': file({
    added_tokens: special(robertas),
    normalizer: { type: 'Precompiled', precompiled_charsmap: table },
    pre_tokenizer: sequence(
      'pretokenizers',
      { type: 'WhitespaceSplit' },
      { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always', split: true },
    ),
    post_processor: robertaTemplate,
    model: { type: 'Unigram', unk_id: 3, vocab: xlm, byte_fallback: false },
  }),
  'unigram-deberta': file({
    added_tokens: [
      ...special(['[PAD]', '[CLS]', '[SEP]', '[UNK]']),
      ...special(['[MASK]'], deberta.length),
      added(deberta.length + 1, '<extra>', { rstrip: true }),
    ],
    normalizer: sequence(
      'normalizers',
      { type: 'Strip', strip_left: true, strip_right: true },
      { type: 'Precompiled', precompiled_charsmap: table },
      { type: 'NFKC' },
      { type: 'Replace', pattern: { Regex: ' {2,}' }, content: ' ' },
    ),
    pre_tokenizer: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always', split: true },
    post_processor: bertTemplate(1, 2),
    model: { type: 'Unigram', unk_id: 3, vocab: deberta, byte_fallback: false },
  }),
  'unigram-t5': file({
    added_tokens: special(['<pad>', '</s>', '<unk>']),
    normalizer: sequence('normalizers', { type: 'Nmt' }, { type: 'Lowercase' }),
    pre_tokenizer: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'first', split: false },
    post_processor: template(
      [place('A'), place('</s>')],
      [place('A'), place('</s>'), place('B'), place('</s>')],
      { '</s>': 1 },
    ),
    model: { type: 'Unigram', unk_id: 2, vocab: t5, byte_fallback: true },
  }),
};
if (minilm) files.minilm = JSON.parse(fs.readFileSync(minilm));

// unspellable renames the special tokens of a file.
function unspellable(parsed) {
  const f = structuredClone(parsed),
    name = new Map(
      f.added_tokens.filter((t) => t.special).map((t, i) => [t.content, '\uf8ff\uf8fe' + i + '\uf8ff']),
    ),
    rename = (t) => name.get(t) ?? t;
  f.truncation = f.padding = null;
  for (const t of f.added_tokens) t.content = rename(t.content);
  if (f.model.unk_token) f.model.unk_token = rename(f.model.unk_token);
  f.model.vocab = Array.isArray(f.model.vocab)
    ? f.model.vocab.map(([t, s]) => [rename(t), s])
    : Object.fromEntries(Object.entries(f.model.vocab).map(([t, i]) => [rename(t), i]));
  return [f, new Map([...name].map(([a, b]) => [b, a]))];
}

(async () => {
  const golden = { texts, tokenizers: {} };
  for (const [name, parsed] of Object.entries(files)) {
    if (name !== 'minilm') fs.writeFileSync(path.join(out, name + '.json'), JSON.stringify(parsed) + '\n');
    const [f, back] = unspellable(parsed),
      t = Tokenizer.fromString(JSON.stringify(f)),
      g = (golden.tokenizers[name] = { singles: [], pairs: [] });
    for (const text of texts) g.singles.push((await t.encode(text)).getIds());
    for (let i = 0; i < 5; i++) {
      const pair = [texts[4 + i], texts[20 - i]],
        e = await t.encode(...pair);
      g.pairs.push({
        texts: pair,
        ids: e.getIds(),
        types: e.getTypeIds(),
        tokens: e.getTokens().map((t) => back.get(t) ?? t),
        special: e.getSpecialTokensMask(),
        sequences: e.getSequenceIds().map((s) => s ?? -1),
      });
    }
  }
  const lines = Object.entries(golden.tokenizers).map(
    ([name, g]) => JSON.stringify(name) + ': ' + JSON.stringify(g),
  );
  fs.writeFileSync(
    path.join(out, 'golden.json'),
    '{"texts": ' + JSON.stringify(texts) + ',\n"tokenizers": {\n' + lines.join(',\n') + '\n}}\n',
  );
})();
