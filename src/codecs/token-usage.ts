import type { CountCodec } from '../core/codec.js'
import { GatewayError } from '../core/errors.js'
import type { MediaPart, Part, TextRequest, TextUsage, Tool } from '../core/text.js'
import { withRest } from '../core/usage-rest.js'

/**
 * The usage of an answer as an upstream reports it, which may leave out any of input, output and total: the total and one of
 * the others give the third. The total itself is kept only where it cannot be added up. Undefined: it reports nothing.
 */
export function tokenCounts(reported: TextUsage): TextUsage | undefined {
  const { total, ...counts } = withRest(reported)
  const { input, output } = counts
  const known = input ?? output
  if (known === undefined && total !== undefined) return reported
  if (known === undefined || total === undefined || known > total || (input !== undefined && output !== undefined))
    return Object.keys(counts).length === 0 ? undefined : counts
  return { ...counts, input: input ?? total - known, output: output ?? total - known }
}

/** All tokens that are known of. */
export function totalOf({ input, output, total = 0 }: TextUsage): number {
  return input === undefined && output === undefined ? total : (input ?? 0) + (output ?? 0)
}

/** Bytes of UTF-8 text that make a token, on the average of European languages and code. */
const BYTES_PER_TOKEN = 4
/** Tokens around a turn, and of a media part whose real cost depends on what is in it. */
const TOKENS_PER_TURN = 4
const TOKENS_PER_MEDIA = 258
/** Bytes of a document, audio or video that are counted as a token, as pages and seconds cannot be seen here. */
const MEDIA_BYTES_PER_TOKEN = 32

/**
 * The tokens of a request where no upstream counts them: a guess from the length of its texts, said to be one. It is
 * meant for clients that only want to know whether a conversation still fits.
 */
export function estimateTokens({ system, turns, tools }: TextRequest): number {
  let bytes = 0
  let tokens = 0
  const add = (parts: readonly Part[]): void => {
    for (const part of parts) {
      bytes += textBytes(part)
      if (part.type === 'media') tokens += mediaTokens(part)
      if (part.type === 'result') add(part.parts)
    }
  }
  add(system)
  for (const { parts } of turns) {
    tokens += TOKENS_PER_TURN
    add(parts)
  }
  for (const tool of tools) bytes += toolBytes(tool)
  return Math.max(1, tokens + Math.ceil(bytes / BYTES_PER_TOKEN))
}

function textBytes(part: Part): number {
  switch (part.type) {
    case 'text':
    case 'reasoning':
    case 'refusal':
      return Buffer.byteLength(part.text)
    case 'call':
      return Buffer.byteLength(part.name) + Buffer.byteLength(part.arguments)
    case 'hosted':
      return Buffer.byteLength(JSON.stringify(part.value))
    default:
      return 0
  }
}

function mediaTokens({ kind, source }: MediaPart): number {
  if ('text' in source) return Math.ceil(Buffer.byteLength(source.text) / BYTES_PER_TOKEN)
  if (kind === 'image' || !('base64' in source)) return TOKENS_PER_MEDIA
  return Math.ceil((source.base64.length * 3) / 4 / MEDIA_BYTES_PER_TOKEN)
}

function toolBytes(tool: Tool): number {
  if (tool.type === 'hosted') return Buffer.byteLength(JSON.stringify(tool.value))
  const schema = tool.type === 'function' ? tool.schema : tool.format
  return Buffer.byteLength(tool.name + (tool.description ?? '')) + Buffer.byteLength(JSON.stringify(schema ?? {}))
}

/** Stands for an upstream that counts nothing: the gateway answers by {@link estimateTokens} and calls no one. */
export const estimate: CountCodec = {
  operation: 'count',
  protocol: 'estimate',
  server: {
    decodeRequest: never,
    encodeResult: never,
  },
  client: {
    encodeRequest: never,
    decodeResult: never,
    decodeError: () => ({ message: undefined }),
  },
}

function never(): never {
  throw new GatewayError('internal', 'The gateway estimates; no upstream is asked.')
}
