import type {
  Codec,
  CountCodec,
  EditCodec,
  HearCodec,
  ImageCodec,
  SpeakCodec,
  TextCodec,
  Traits,
} from '../core/codec.js'
import * as audio from './audio/index.js'
import { chat } from './chat/index.js'
import { converse } from './converse/index.js'
import { embedContent, embedContents } from './embed-content/index.js'
import { embeddings } from './embeddings/index.js'
import { generate, generateCount } from './generate/index.js'
import { edits, editsByChat, editsByGenerate, images, imagesByChat, imagesByGenerate } from './images/index.js'
import { messages, messagesCount } from './messages/index.js'
import { moderations } from './moderations/index.js'
import { predict } from './predict/index.js'
import { rerank, rerankV2 } from './rerank/index.js'
import { responses, responsesCount } from './responses/index.js'

export { estimate, estimateTokens } from './token-usage.js'

/**
 * Every codec. Where an upstream speaks several protocols of an operation but not the client's, the first of them here
 * is spoken: the order goes from those that carry most to those that carry least.
 */
const CODECS: readonly Codec[] = [
  responses,
  chat,
  generate,
  messages,
  converse,
  embedContents,
  embedContent,
  embeddings,
  rerank,
  rerankV2,
  moderations,
  images,
  imagesByGenerate,
  predict,
  imagesByChat,
  edits,
  editsByGenerate,
  editsByChat,
  audio.speech,
  audio.speechByGenerate,
  audio.transcriptions,
  audio.transcriptionsByGenerate,
  audio.translations,
  audio.translationsByGenerate,
  messagesCount,
  generateCount,
  responsesCount,
]

export function codecOf(protocol: string): Codec | undefined {
  return CODECS.find(codec => codec.protocol === protocol)
}

/** Whether requests of a protocol that is translated may be forms, too. */
export function readsForms(codec: Codec): boolean {
  return 'forms' in codec && codec.forms === true
}

/** Whether a form of the protocol can be sent as JSON of the same protocol. */
export function writesFormsAsJson(codec: Codec): boolean {
  return codec === edits
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

/** Codecs that a client's protocol can be translated to, best first; not those that a model has to be declared for. */
export function partnersOf(server: Codec): readonly Codec[] {
  return CODECS.filter(codec => codec.operation === server.operation && codec !== server && !isDeclared(codec))
}

function isOfImages(codec: Codec): codec is ImageCodec | EditCodec {
  return codec.operation === 'image' || codec.operation === 'edit'
}

function isOfAudio(codec: Codec): codec is SpeakCodec | HearCodec {
  return codec.operation === 'speak' || codec.operation === 'transcribe' || codec.operation === 'translate'
}

function isDeclared(codec: Codec): boolean {
  return 'declared' in codec && codec.declared === true
}

/** The codec that is declared for a model, among those that its upstream speaks; undefined where nothing is said. */
export function declaredCodec(
  server: Codec | undefined,
  { moderates, images: by, audio: spoken }: Traits,
  speaks: (protocol: string) => boolean,
): Codec | undefined {
  const isMeant = (codec: Codec): boolean => {
    if (isOfImages(codec)) return codec.protocol === by
    return isOfAudio(codec) ? codec.protocol === spoken : moderates === true
  }
  return declarable(server).find(codec => isMeant(codec) && speaks(codec.protocol))
}

/** Codecs by which a model can be declared to be asked, for clients of this protocol. */
export function declarable(server: Codec | undefined): readonly Codec[] {
  const operation = server?.operation === 'moderate' ? 'text' : server?.operation
  if (operation !== server?.operation || (server !== undefined && (isOfImages(server) || isOfAudio(server)))) {
    return CODECS.filter(codec => codec.operation === operation && codec !== server)
  }
  return []
}
