import type { Part } from './forms.js'

/** What a client asks of a kind, and what its upstream has to see: the shapes of the providers' public references. */
export interface KindCall {
  readonly kind: string
  /** A path of the gateway, and what the body has beside the model. */
  readonly asked: readonly [path: string, body: Readonly<Record<string, unknown>>]
  /** The body, if it is a form; `asked` then has nothing beside the path. */
  readonly form?: readonly Part[]
  /** Method and target at the upstream. */
  readonly sent: string
  /** The body there; absent: as the client sent it, with the upstream's name of the model. */
  readonly body?: Readonly<Record<string, unknown>>
  /** What the body there is like, if it is not JSON. */
  readonly like?: RegExp
  /** Headers there, beside the credential. */
  readonly headers?: Readonly<Record<string, string>>
  /** Where the credential is, with what precedes it; absent: a bearer token. */
  readonly credential?: readonly [place: string, before: string]
  /** The upstream's answer; absent: one that the operation usually has. */
  readonly answer?: unknown
  /** What of it the client gets; absent, as `bytes` below: all of it, unchanged. */
  readonly got?: Readonly<Record<string, unknown>>
  /** The same of an answer that is not JSON: its content type, and its bytes as text. */
  readonly bytes?: readonly [type: string, text: string]
}

/** The upstream's name of each model. */
export const THEIRS = 'vendor/model-1'

export const CHAT = ['/v1/chat/completions', { messages: [{ role: 'user', content: 'Hi' }] }] as const
export const COMPLETE = ['/v1/completions', { prompt: 'Hi' }] as const
export const RESPOND = ['/v1/responses', { input: 'Hi' }] as const
export const MODERATE = ['/v1/moderations', { input: 'Hi' }] as const
export const EMBED = ['/v1/embeddings', { input: ['Hi'] }] as const
export const IMAGE = ['/v1/images/generations', { prompt: 'A cat' }] as const
export const SPEECH = ['/v1/audio/speech', { input: 'Hi', voice: 'amber' }] as const
export const RANK = ['/v1/rerank', { query: 'a', documents: ['a', 'b'] }] as const
export const MESSAGE = ['/v1/messages', { max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] }] as const

export const SOUND = ['/v1/audio/transcriptions', {}] as const
export const TRANSLATE = ['/v1/audio/translations', {}] as const
export const WAV: Part = ['file', Buffer.from('sound'), 'audio/wav']
