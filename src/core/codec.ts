import type { HearField, HearRequest, HearResult, SpeakField, SpeakRequest, SpeakResult } from './audio.js'
import type { EmbedField, EmbedRequest, EmbedResult } from './embed.js'
import type { Carry, Field, FieldMapping } from './fields.js'
import type { EditField, EditRequest, ImageField, ImageRequest, ImageResult } from './image.js'
import type { Json, JsonObject } from './json.js'
import type { Overflow } from './long-text.js'
import type { RerankField, RerankRequest, RerankResult } from './rerank.js'
import type { Counted, Left, MediaPart, TextEvent, TextRequest, TextResult } from './text.js'

export type Codec =
  | TextCodec
  | EmbedCodec
  | RerankCodec
  | ImageCodec
  | EditCodec
  | SpeakCodec
  | HearCodec
  | ModerateCodec
  | CountCodec

/**
 * One text protocol, both ways. Pure, synchronous, no I/O. Requests come checked against the route's schema, but a codec
 * trusts no member to be there or to be of its type.
 */
export interface TextCodec {
  readonly operation: 'text'
  /** `chat`, as routes and upstreams name it. */
  readonly protocol: string
  readonly server: TextServer
  readonly client: TextClient
}

/** We are the server: a client speaks this protocol to us. */
interface TextServer {
  /** Throws `GatewayError` (`invalid_parameter` with its `param`) for what can mean nothing. */
  decodeRequest(body: JsonObject, head: RequestHead): TextRequest
  encodeResult(result: TextResult, answer: AnswerContext): JsonObject
  encodeStream(answer: AnswerContext): StreamEncoder
  /** What answers repeat of the client's body, where it is little: all else is dropped once the request is sent. */
  answerBody?(body: JsonObject): JsonObject
  /** Every member that requests of this protocol can have (dotted, `[]` for elements of arrays), and what holds it. */
  readonly fields: Readonly<Record<string, FieldMapping>>
  /** Whether every client of this protocol sends seals back; where not, the gateway keeps those of calls, too. */
  readonly returnsSeals: boolean
}

/**
 * One operation whose answers are whole documents, by one protocol, both ways. The rules are those of {@link TextCodec}.
 */
export interface DocumentCodec<
  Request extends DocumentRequest = DocumentRequest,
  Result extends Counted = Counted,
  F extends string = string,
> {
  readonly operation: string
  readonly protocol: string
  readonly server: {
    decodeRequest(body: JsonObject, head: RequestHead): Request
    encodeResult(result: Result, request: Request, answer: DocumentAnswer): JsonObject
    /** The same as the events of a stream, for clients that asked for one. The last of them ends it. */
    encodeEvents?(result: Result, request: Request, answer: DocumentAnswer): readonly Frame[]
    /** The same as bytes that are not JSON, for clients that get such; undefined for the others. */
    encodeBytes?(result: Result, request: Request): Bytes | undefined
    readonly fields: Readonly<Record<string, FieldMapping<F>>>
  }
  readonly client: {
    encodeRequest(request: Request, target: Target<F>): JsonObject
    /** `request` is what was asked: answers are held against it. Throws `bad_upstream_response`. */
    decodeResult(body: Json, request: Request): Result
    decodeError(status: number, body: Json | undefined): UpstreamError
    readonly carries: Readonly<Record<F, Carry>>
    /** Whether a model with these traits makes one thing for each request: several then take several calls. */
    makesOne?(traits: Traits): boolean
    /** See {@link TextClient.takesUrl}; absent where requests hold no media. */
    takesUrl?(part: MediaPart, traits: Traits): boolean
  }
}

/** Most calls that one request becomes where a model makes one thing for each. */
const MAX_CALLS = 10

/** How many calls a request takes of a model with these traits. */
export function callsOf(client: object, request: object, traits: Traits): number {
  const { makesOne } = client as Partial<Pick<DocumentCodec['client'], 'makesOne'>>
  if (makesOne?.(traits) !== true) return 1
  return 'count' in request && typeof request.count === 'number' ? Math.min(request.count, MAX_CALLS) : 1
}

/** A whole answer that is not JSON, with its content type. */
export interface Bytes {
  readonly type: string
  readonly bytes: Uint8Array
}

interface DocumentRequest {
  readonly left: readonly Left[]
}

/** What answers have that upstreams do not always give. */
export type DocumentAnswer = Pick<AnswerContext, 'newId' | 'now'>

export interface EmbedCodec extends DocumentCodec<EmbedRequest, EmbedResult, EmbedField> {
  readonly operation: 'embed'
}

export interface RerankCodec extends DocumentCodec<RerankRequest, RerankResult, RerankField> {
  readonly operation: 'rerank'
}

export interface ImageCodec extends DocumentCodec<ImageRequest, ImageResult, ImageField> {
  readonly operation: 'image'
  /** Spoken only where a model is declared to be asked by it: its protocol is that of another operation, too. */
  readonly declared?: true
}

/** Images made of images. */
export interface EditCodec extends DocumentCodec<EditRequest, ImageResult, EditField> {
  readonly operation: 'edit'
  /** Whether clients may send forms: what these become as JSON is decoded. */
  readonly forms?: true
  /** As {@link ImageCodec.declared}. */
  readonly declared?: true
}

/** Texts that are spoken. */
export interface SpeakCodec extends DocumentCodec<SpeakRequest, SpeakResult, SpeakField> {
  readonly operation: 'speak'
  /** As {@link ImageCodec.declared}. */
  readonly declared?: true
}

/** What is said in a recording, in its own words or in English. */
export interface HearCodec extends DocumentCodec<HearRequest, HearResult, HearField> {
  readonly operation: 'transcribe' | 'translate'
  /** As {@link EditCodec.forms}. */
  readonly forms?: true
  /** As {@link ImageCodec.declared}. */
  readonly declared?: true
}

/** Moderation, for clients alone: the request is a question to a model of texts, which any {@link TextClient} asks. */
export interface ModerateCodec {
  readonly operation: 'moderate'
  readonly protocol: string
  readonly server: TextServer
  readonly client: {
    encodeRequest(request: TextRequest, target: Target): JsonObject
    decodeResult(body: Json): TextResult
    decodeError(status: number, body: Json | undefined): UpstreamError
    readonly carries: Readonly<Record<string, Carry>>
  }
}

/** Counting the tokens of a text request without running it. */
export interface CountCodec {
  readonly operation: 'count'
  readonly protocol: string
  readonly server: {
    decodeRequest(body: JsonObject, head: RequestHead): TextRequest
    encodeResult(tokens: number): JsonObject
  }
  readonly client: {
    encodeRequest(request: TextRequest, target: Target): JsonObject
    /** Throws `bad_upstream_response`. */
    decodeResult(body: Json): number
    decodeError(status: number, body: Json | undefined): UpstreamError
  }
}

/** What a request says outside its body. */
export interface RequestHead {
  readonly model: string
  readonly stream: boolean
}

export interface AnswerContext {
  /** All that answers need of the request. */
  readonly request: Pick<TextRequest, 'model' | 'streamUsage'> & Partial<Pick<TextRequest, 'tools'>>
  /** A new id: 32 hex digits behind the prefix. */
  newId(prefix: string): string
  /** The answer's own id, where the gateway gives it. */
  readonly id?: string | undefined
  /** Seconds since the epoch when the request came. */
  readonly now: number
  /** The client's body, for protocols whose answers repeat it. */
  readonly body: JsonObject
  /** Says that something of the answer cannot be shown in this protocol. */
  readonly lose: (what: string, why: string) => void
  /** For text that has to wait for the end of a stream. */
  readonly overflow?: Overflow
}

/** We are the client: we speak this protocol to an upstream. */
interface TextClient {
  encodeRequest(request: TextRequest, target: Target): JsonObject
  /** Throws `GatewayError` (`bad_upstream_response`) where the document is not one of this protocol. */
  decodeResult(body: Json): TextResult
  decodeStream(): StreamDecoder
  /** What a refusal (status 4xx or 5xx, with a JSON body or none) says. Never throws. */
  decodeError(status: number, body: Json | undefined): UpstreamError
  /** What becomes of each canonical field in requests of this protocol. `encodeRequest` does what this says. */
  readonly carries: Readonly<Record<Field, Carry>>
  /** Its streams may come as JSON documents, a line each or in one array, with the content type of a document. */
  readonly jsonStreams?: true
  /** Whether the upstream itself fetches this part's URL; where not, it has to become bytes. */
  takesUrl(part: MediaPart, traits: Traits): boolean
}

/** The model and upstream that a request is encoded for. */
export interface Target<F extends string = Field> {
  /** The upstream's name for the model. */
  readonly model: string
  readonly traits: Traits
  /**
   * Says that a field, or the part at a place in the client's body, does not go out as it was asked for. The reason is
   * the one in `carries` unless another is given. Throws where `carries` says `refused`.
   */
  lose(field: F, at?: string, why?: string): void
}

/** What an operator declares of a model, so that requests are encoded as it wants them. All optional. */
export interface Traits {
  /** Most tokens of an answer where the client names no limit and the protocol wants one. */
  readonly max_output?: number
  /** Chat's name for that limit. Default: `max_completion_tokens`. */
  readonly max_tokens_field?: 'max_tokens' | 'max_completion_tokens'
  /** How the amount of thinking is set. Default: what the request says, if the protocol can express it. */
  readonly reasoning?: 'effort' | 'adaptive' | 'budget' | 'level' | 'none'
  /** How structured answers are asked for: by the protocol's own field, or by a tool that must be called. */
  readonly structured?: 'schema' | 'tool'
  /** False: temperature, top_p and top_k are refused by the model, so they are left out. */
  readonly sampling?: boolean
  /** The role of instructions in chat. Default: `system`. */
  readonly system_role?: 'system' | 'developer'
  /** Whether converse takes marks for its cache; `text`: only behind text. Of patterns of models the first one decides. Default: true. */
  readonly prompt_cache?: boolean | 'text' | Readonly<Record<string, boolean | 'text'>>
  /** Whether the upstream fetches images and files by URL itself; `https`: by no other. */
  readonly fetches_urls?: boolean | 'https'
  /** True: a model of texts that judges content; requests for moderation are put to it as a question. */
  readonly moderates?: boolean
  /** The protocol by which images are asked for. Default: the upstream's first one that is made for it. */
  readonly images?: 'generate' | 'predict' | 'chat'
  /** The protocol by which the model is asked to speak, and to write down what is said. Absent: none but these' own. */
  readonly audio?: 'generate'
  /**
   * The model embeds images beside texts; and how compatible upstreams are given them: as `{image}`, or as parts inside
   * `{content}`. Absent: it embeds texts alone.
   */
  readonly image_inputs?: 'objects' | 'parts'
  /** False: a model of texts that makes images makes one for each request, so that several take several calls. */
  readonly several_images?: boolean
  /** Members beside the usual ones that the upstream knows in requests to rerank. Others are left out of what is translated. */
  readonly rerank?: readonly ('max_tokens_per_doc' | 'max_doc_length' | 'priority' | 'truncation')[]
  /** How compatible upstreams receive the purpose of vectors: the member, and its words by those of the native protocol. */
  readonly embedding_tasks?: { readonly field: string; readonly words: Readonly<Record<string, string>> }
}

/** What an upstream said in refusing: still to be cleaned of secrets. */
export interface UpstreamError {
  readonly message: string | undefined
  /** The field at fault, as the upstream names it. */
  readonly param?: string
  /** A code that clients of several families match, such as `context_length_exceeded`, `rate_limit_exceeded`. */
  readonly code?: string
  /** Milliseconds. */
  readonly retryAfter?: number
}

/** One message of a stream: an event with its name, or a JSON line. */
export interface Frame {
  readonly event?: string
  readonly data: string
}

/**
 * Explicit, incremental. Never waits for a later frame where an event can be sent now. A frame that is not one of the
 * protocol gives one `error` event (`bad_upstream_response`); an error frame gives one `error` event
 * (`upstream_failed`, or by its status). After `finish` or `error` it gives nothing more.
 */
export interface StreamDecoder {
  push(frame: Frame): readonly TextEvent[]
  /** The transfer ended well. An answer that did not come to its end gives an `error` (`upstream_truncated`). */
  end(): readonly TextEvent[]
}

/** Takes the events of one answer, in order; after `finish` or `error` it has given the protocol's last frame. */
export interface StreamEncoder {
  push(event: TextEvent): readonly Frame[]
}
