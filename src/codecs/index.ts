import type { Codec, CountCodec, TextCodec } from '../core/codec.js'
import { chat } from './chat/index.js'
import { embedContent, embedContents } from './embed-content/index.js'
import { embeddings } from './embeddings/index.js'
import { generate, generateCount } from './generate/index.js'
import { messages, messagesCount } from './messages/index.js'
import { moderations } from './moderations/index.js'
import { rerank, rerankV2 } from './rerank/index.js'
import { responses, responsesCount } from './responses/index.js'

export { estimate, estimateTokens } from './estimate.js'

/**
 * Every codec. Where an upstream speaks several protocols of an operation but not the client's, the first of them here
 * is spoken: the order goes from those that carry most to those that carry least.
 */
const CODECS: readonly Codec[] = [
  responses,
  chat,
  generate,
  messages,
  embedContents,
  embedContent,
  embeddings,
  rerank,
  rerankV2,
  moderations,
  messagesCount,
  generateCount,
  responsesCount,
]

export function codecOf(protocol: string): Codec | undefined {
  return CODECS.find(codec => codec.protocol === protocol)
}

const COUNTED: ReadonlyMap<CountCodec, TextCodec> = new Map([
  [messagesCount, messages],
  [generateCount, generate],
  [responsesCount, responses],
])

/** The codec of the requests that this one counts the tokens of. */
export function countedBy(codec: CountCodec): TextCodec {
  const counted = COUNTED.get(codec)
  if (counted === undefined) throw new Error(`${codec.protocol} counts no requests of a protocol`)
  return counted
}

/** Protocols of text that upstreams speak. */
export function textProtocols(): readonly string[] {
  return CODECS.filter(({ operation }) => operation === 'text').map(({ protocol }) => protocol)
}

/** Codecs that a client's protocol can be translated to, best first. */
export function partnersOf(server: Codec): readonly Codec[] {
  return CODECS.filter(codec => codec.operation === server.operation && codec !== server)
}
