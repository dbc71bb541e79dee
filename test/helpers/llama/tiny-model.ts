import { seeded } from '../random.js'
import { gguf, type Tensor, type Value } from './gguf.js'

/** The size of the model, which is also the dimension of its embeddings. */
export const WIDTH = 64
/** Tokens that it was "trained" on: the default context of a server. */
export const CONTEXT_TOKENS = 131_072
const LAYERS = 2
const HEADS = 2
const HEAD_WIDTH = WIDTH / HEADS
const INNER_WIDTH = 128
const SEED = 20_240_807

const END = '<|im_end|>'
const CONTROL_TOKENS = ['<|endoftext|>', '<|im_start|>', END]
/** Tokens that the model looks for in what was before. */
const TOOLS = '<tools>'
const CALL = '<tool_call>'
/** Parts of a call, each of many bytes, so that a call is no longer than those of other models. */
const PARTS = ['{"name": "', '", "arguments": {"', '": "', '</tool_call>']
/** Types of tokens, as the tokenizer has them. */
const NORMAL = 1
const CONTROL = 3
const OWN = 4
const OWN_TOKENS = [TOOLS, CALL]

/** The first numbers of a state are not random. */
const STATE = { constant: 0, isTools: 1, isCall: 2, hadTools: 3, hadCall: 4, isNewLine: 5 }
const RESERVED = Object.keys(STATE).length
/** Tokens that say so in their own numbers. */
const MARKS = new Map([
  [TOOLS, STATE.isTools],
  [CALL, STATE.isCall],
  [nameOfByte(10), STATE.isNewLine],
])
/** Each head of the first layer looks back for one token, and says whether there was one. */
const LOOKS = [
  { head: 0, for: STATE.isTools, into: STATE.hadTools },
  { head: 1, for: STATE.isCall, into: STATE.hadCall },
]

/** Turns as ChatML; tools and their calls as JSON between tags, as many open models have been trained. */
const TEMPLATE = `{%- if tools %}
  {{- '<|im_start|>system\\n' }}
  {%- if messages[0].role == 'system' %}{{- messages[0].content + '\\n\\n' }}{%- endif %}
  {{- '# Tools\\n\\n<tools>' }}
  {%- for tool in tools %}{{- '\\n' + (tool | tojson) }}{%- endfor %}
  {{- '\\n</tools>\\n\\nCall one by its name, with arguments as JSON.<|im_end|>\\n' }}
{%- elif messages[0].role == 'system' %}
  {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
  {%- if message.role == 'user' or (message.role == 'system' and not loop.first) or (message.role == 'assistant' and not message.tool_calls) %}
    {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
  {%- elif message.role == 'assistant' %}
    {{- '<|im_start|>assistant' }}
    {%- if message.content %}{{- '\\n' + message.content }}{%- endif %}
    {%- for call in message.tool_calls %}
      {%- if call.function is defined %}{%- set call = call.function %}{%- endif %}
      {{- '\\n<tool_call>{"name": "' + call.name + '", "arguments": ' + (call.arguments | tojson) + '}</tool_call>' }}
    {%- endfor %}
    {{- '<|im_end|>\\n' }}
  {%- elif message.role == 'tool' %}
    {{- '<|im_start|>user\\n<tool_response>\\n' + message.content + '\\n</tool_response><|im_end|>\\n' }}
  {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}`

/**
 * A language model of the llama architecture, as a file of GGUF: half a megabyte, the same in every run. A token is a byte. Its weights
 * are random, so that it babbles; but it soon ends what it begins (sentences, and strings and objects of JSON), and where it is
 * given tools it begins with a call, unless there was one before.
 */
export function tinyModel(): Buffer {
  const bytes = Array.from({ length: 256 }, (_, byte) => nameOfByte(byte))
  const tokens = [...bytes, ...PARTS.map(part => part.replaceAll(' ', nameOfByte(32))), ...CONTROL_TOKENS, TOOLS, CALL]
  const types = tokens.map(token =>
    CONTROL_TOKENS.includes(token) ? CONTROL : OWN_TOKENS.includes(token) ? OWN : NORMAL,
  )
  const metadata: Record<string, Value> = {
    'general.architecture': { string: 'llama' },
    'general.name': { string: 'tiny' },
    'llama.context_length': { u32: CONTEXT_TOKENS },
    'llama.embedding_length': { u32: WIDTH },
    'llama.block_count': { u32: LAYERS },
    'llama.feed_forward_length': { u32: INNER_WIDTH },
    'llama.attention.head_count': { u32: HEADS },
    'llama.attention.head_count_kv': { u32: HEADS },
    'llama.attention.layer_norm_rms_epsilon': { f32: 1e-5 },
    'llama.rope.dimension_count': { u32: HEAD_WIDTH },
    'llama.vocab_size': { u32: tokens.length },
    'tokenizer.ggml.model': { string: 'gpt2' },
    'tokenizer.ggml.pre': { string: 'gpt-2' },
    'tokenizer.ggml.tokens': { strings: tokens },
    'tokenizer.ggml.token_type': { i32s: types },
    'tokenizer.ggml.merges': { strings: [] },
    'tokenizer.ggml.bos_token_id': { u32: tokens.indexOf('<|endoftext|>') },
    'tokenizer.ggml.padding_token_id': { u32: tokens.indexOf('<|endoftext|>') },
    'tokenizer.ggml.eos_token_id': { u32: tokens.indexOf(END) },
    'tokenizer.ggml.add_bos_token': { bool: false },
    'tokenizer.chat_template': { string: TEMPLATE },
  }
  return gguf(metadata, weights(tokens))
}

/** A weight by its row and column: from the column's number to the row's. Undefined: a random one. */
type Weight = (row: number, column: number) => number | undefined

function weights(tokens: readonly string[]): Tensor[] {
  const random = seeded(SEED)
  const normal = (): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  const matrix = (name: string, [from, to]: readonly [number, number], spread: number, known: Weight): Tensor => {
    const values = new Float32Array(from * to)
    for (let i = 0; i < values.length; i++) values[i] = known(Math.floor(i / from), i % from) ?? spread * normal()
    return { name, shape: [from, to], values }
  }
  const norm = (name: string): Tensor => ({ name, shape: [WIDTH], values: new Float32Array(WIDTH).fill(1) })
  const layer = (i: number): Tensor[] => [
    norm(`blk.${i}.attn_norm.weight`),
    matrix(`blk.${i}.attn_q.weight`, [WIDTH, WIDTH], 0.1, (row, column) => looking(row, column, () => STATE.constant)),
    matrix(`blk.${i}.attn_k.weight`, [WIDTH, WIDTH], 0.1, (row, column) =>
      looking(row, column, head => (i === 0 ? LOOKS[head]?.for : undefined)),
    ),
    matrix(`blk.${i}.attn_v.weight`, [WIDTH, WIDTH], 0.1, (row, column) => {
      const look = LOOKS.find(({ head }) => row === head * HEAD_WIDTH)
      return look === undefined ? undefined : Number(column === look.for)
    }),
    matrix(`blk.${i}.attn_output.weight`, [WIDTH, WIDTH], 0.05, (row, column) => {
      const look = LOOKS.find(({ into }) => row === into)
      if (look !== undefined && i === 0) return Number(column === look.head * HEAD_WIDTH)
      return row < RESERVED ? 0 : undefined
    }),
    norm(`blk.${i}.ffn_norm.weight`),
    matrix(`blk.${i}.ffn_gate.weight`, [WIDTH, INNER_WIDTH], 0.1, () => undefined),
    matrix(`blk.${i}.ffn_up.weight`, [WIDTH, INNER_WIDTH], 0.1, () => undefined),
    matrix(`blk.${i}.ffn_down.weight`, [INNER_WIDTH, WIDTH], 0.05, row => (row < RESERVED ? 0 : undefined)),
  ]
  return [
    matrix('token_embd.weight', [WIDTH, tokens.length], 0.5, (id, column) => {
      if (column === STATE.constant) return 4
      return column < RESERVED ? Number(column === MARKS.get(tokens[id] ?? '')) * 4 : undefined
    }),
    ...Array.from({ length: LAYERS }, (_, i) => layer(i)).flat(),
    norm('output_norm.weight'),
    matrix('output.weight', [WIDTH, tokens.length], 0.05, (id, column) => liking(tokens[id] ?? '', column)),
  ]
}

/** The last pair of numbers of a head turns least with the position: by it a head finds a token at any distance. */
function looking(row: number, column: number, sought: (head: number) => number | undefined): number | undefined {
  const isLast = row % HEAD_WIDTH >= HEAD_WIDTH - 2
  if (!isLast) return undefined
  return row % 2 === 0 && column === sought(Math.floor(row / HEAD_WIDTH)) ? 2 : 0
}

/** How much a token comes of itself, and by what there was before. The numbers of a state are about five where they are set. */
function liking(token: string, column: number): number | undefined {
  if (column === STATE.constant) return likingByItself(token) / 5
  // The prompt ends with a new line: an answer is never empty.
  if (column === STATE.isNewLine) return token === END ? -4 : 0
  if (column === STATE.hadTools) return token === CALL ? 5 : 0
  if (column === STATE.hadCall && token === END) return 0.6
  if (column === STATE.hadCall) return token === CALL ? -8 : token === '</tool_call>' ? 2 : isPart(token) ? 3 : 0
  return undefined
}

function isPart(token: string): boolean {
  return PARTS.includes(token.replaceAll(nameOfByte(32), ' '))
}

function likingByItself(token: string): number {
  if (token === '"' || token === '}') return 2.5
  if (token === END) return 1.5
  if (/^[a-zĠ]$/.test(token)) return 0
  return /^[ -~]$/.test(token) ? -3 : -12
}

/** How byte-level vocabularies write a byte: a printable character for each. */
function nameOfByte(byte: number): string {
  const isPrintable = (byte > 32 && byte < 127) || (byte > 160 && byte < 173) || byte > 173
  if (isPrintable) return String.fromCharCode(byte)
  // The others are numbered from U+0100 on, in their order.
  const before = byte <= 32 ? byte : byte <= 160 ? byte - 127 + 33 : 67
  return String.fromCharCode(256 + before)
}
