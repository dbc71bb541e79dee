import type { GatewayError } from './errors.js'
import type { Json, JsonObject } from './json.js'

/**
 * The canonical model of text generation: what all text protocols say, in one form. Codecs translate to it and from it;
 * what it has no place for is named in {@link TextRequest.left}.
 */
export interface TextRequest {
  /** As the client names it. */
  readonly model: string
  readonly stream: boolean
  /** Whether a streamed answer ends with usage, in protocols whose clients have to ask for it. */
  readonly streamUsage: boolean
  /** Instructions before the first turn. */
  readonly system: readonly TextPart[]
  /** Neighbours may have the same role. */
  readonly turns: readonly Turn[]
  readonly tools: readonly Tool[]
  readonly toolChoice?: ToolChoice
  /** False: at most one call a turn. */
  readonly parallelTools?: boolean
  readonly maxTokens?: number
  readonly temperature?: number
  readonly topP?: number
  readonly topK?: number
  readonly stop?: readonly string[]
  readonly seed?: number
  readonly presencePenalty?: number
  readonly frequencyPenalty?: number
  readonly logitBias?: Readonly<Record<string, number>>
  /** How many answers; 1 where it is not given. */
  readonly candidates?: number
  /** Log probabilities of the tokens, with this many alternatives each (0: of the chosen ones alone). */
  readonly logprobs?: number
  readonly format?: Format
  readonly verbosity?: 'low' | 'medium' | 'high'
  readonly reasoning?: ReasoningWish
  /** The end user, as the client tells of them. */
  readonly user?: string
  readonly safetyId?: string
  readonly metadata?: Readonly<Record<string, string>>
  readonly serviceTier?: string
  readonly cacheKey?: string
  readonly cacheRetention?: string
  /** Whether the upstream may keep the answer. */
  readonly store?: boolean
  /** Kinds of output asked for, where they are not text alone. */
  readonly modalities?: readonly ('text' | 'image' | 'audio')[]
  readonly audio?: { readonly voice?: Json; readonly format?: string }
  /** What the client sent that this model has no place for: carried to no other protocol, and said aloud. */
  readonly left: readonly Left[]
}

/** `field` as the client wrote it: `logit_bias`, `messages[3].name`. */
export interface Left {
  readonly field: string
  readonly why: string
}

export interface Turn {
  /** `system` here is an instruction in the middle of a conversation. Results of tools are parts of `user` turns. */
  readonly role: 'system' | 'user' | 'assistant'
  readonly parts: readonly Part[]
  /** The participant's name. */
  readonly name?: string
  /** Where the turn is in the client's body: `messages[3]`. */
  readonly at?: string
}

export type Part = TextPart | MediaPart | ReasoningPart | CallPart | ResultPart | RefusalPart | HostedPart

interface PartBase {
  /** Where the part is in the client's body: `messages[3].content[1]`. */
  readonly at?: string
  /** A mark that the prompt up to here is worth keeping in a cache. */
  readonly cache?: CacheMark
  /** What the upstream sealed onto this part and wants back with it. */
  readonly seal?: Seal
}

export interface CacheMark {
  readonly ttl?: '5m' | '1h'
}

export interface TextPart extends PartBase {
  readonly type: 'text'
  readonly text: string
  readonly citations?: readonly Citation[]
  readonly logprobs?: readonly TokenLogprob[]
}

export type MediaKind = 'image' | 'audio' | 'video' | 'document'

export interface MediaPart extends PartBase {
  readonly type: 'media'
  readonly kind: MediaKind
  /** `image/png`; absent where a URL or a file id leaves it open. */
  readonly mime?: string
  readonly source: MediaSource
  /** File name or title. */
  readonly name?: string
  /** Resolution at which an image is looked at: `low`, `high`, `auto`. */
  readonly detail?: string
  /** What a document is about, for the model. */
  readonly context?: string
  /** Whether the answer shall cite this document. */
  readonly cite?: boolean
  /** The text spoken in audio that the model made. */
  readonly transcript?: string
}

/**
 * `base64` has no white space and no `data:` head. `file` is an id that only the protocol `of` knows; of what is not a file
 * `why` says why nothing else can stand for it.
 */
export type MediaSource =
  | { readonly base64: string }
  | { readonly url: string }
  | { readonly text: string }
  | FileSource

export interface FileSource {
  readonly file: string
  readonly of: string
  readonly why?: string
}

/** What the model thought before it went on. `text` is empty where it is hidden, and then there is a seal. */
export interface ReasoningPart extends PartBase {
  readonly type: 'reasoning'
  readonly text: string
  /** Whether the text is a summary that the upstream made, or the thoughts themselves. */
  readonly summary?: boolean
  /** The upstream hid the thoughts because of what they hold. */
  readonly redacted?: boolean
  /** The client sent the seal back without the text that it is for. */
  readonly torn?: boolean
  /** The upstream's id of the item. */
  readonly id?: string
}

/**
 * An opaque proof of the upstream's: a signature, an encrypted thought. Only the protocol `by` that made it can read it;
 * in other protocols it travels wrapped (`codecs/seal.ts`) and is unwrapped when it comes back.
 */
export interface Seal {
  readonly by: string
  readonly value: string
}

/** The model calls a tool. */
export interface CallPart extends PartBase {
  readonly type: 'call'
  readonly id: string
  readonly name: string
  /** JSON text of an object (`''` is `{}`); free text where `custom`. */
  readonly arguments: string
  readonly custom?: true
  /** The upstream's id of the item, where that is not the id of the call. */
  readonly item?: string
}

/** What a tool answered. */
export interface ResultPart extends PartBase {
  readonly type: 'result'
  /** The id of the call. */
  readonly id: string
  /** The tool's name, where the protocol says it; else it is the name of the call with this id. */
  readonly name?: string
  readonly parts: readonly (TextPart | MediaPart)[]
  /** The answer as an object, where the protocol has it so. `parts` then holds its JSON text. */
  readonly object?: JsonObject
  readonly error?: boolean
  readonly custom?: true
}

/** The model declines. */
export interface RefusalPart extends PartBase {
  readonly type: 'refusal'
  readonly text: string
}

/** A block or an item that only the protocol `of` knows, such as the trace of a tool that runs at the upstream. */
export interface HostedPart extends PartBase {
  readonly type: 'hosted'
  readonly of: string
  readonly value: JsonObject
}

export interface Citation {
  readonly url?: string
  readonly title?: string
  /** What is quoted of the source. */
  readonly quote?: string
  /** Range of the text that the citation supports, in characters of this text part. */
  readonly start?: number
  readonly end?: number
  /** The citation in the words of the protocol `of`, for anyone who speaks that one. */
  readonly own?: { readonly of: string; readonly value: JsonObject }
}

export interface TokenLogprob {
  readonly token: string
  readonly logprob: number
  readonly bytes?: readonly number[] | null
  readonly top?: readonly {
    readonly token: string
    readonly logprob: number
    readonly bytes?: readonly number[] | null
  }[]
}

export type Tool = FunctionTool | CustomTool | HostedTool

interface ToolBase {
  /** `tools[0]`. */
  readonly at?: string
  /** What the client calls it, where it is in a group of tools: `name` is then made of both. */
  readonly within?: { readonly namespace: string; readonly name: string }
  readonly cache?: CacheMark
}

export interface FunctionTool extends ToolBase {
  readonly type: 'function'
  readonly name: string
  readonly description?: string
  /** JSON Schema of the arguments; absent where the tool takes none. */
  readonly schema?: JsonObject
  readonly strict?: boolean
}

/** A tool that takes free text. `format` is a grammar, in the words of the compatible protocols. */
export interface CustomTool extends ToolBase {
  readonly type: 'custom'
  readonly name: string
  readonly description?: string
  readonly format?: JsonObject
}

/**
 * A tool that runs at the upstream. `kind` is what several protocols have in common; tools of another kind are known to
 * the protocol `of` alone.
 */
export interface HostedTool extends ToolBase {
  readonly type: 'hosted'
  readonly kind: 'web_search' | 'code_execution' | 'web_fetch' | 'other'
  /** As the protocol `of` calls it: `web_search_20250305`. */
  readonly name: string
  readonly of: string
  readonly value: JsonObject
}

export type ToolChoice =
  | { readonly type: 'auto' | 'none' | 'required' }
  | { readonly type: 'tool'; readonly name: string }
  | { readonly type: 'subset'; readonly mode: 'auto' | 'required'; readonly names: readonly string[] }

/** Form of the answer. */
export type Format =
  | { readonly type: 'json' }
  | {
      readonly type: 'schema'
      readonly schema: JsonObject
      readonly name?: string
      readonly description?: string
      readonly strict?: boolean
    }

export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
export type Effort = (typeof EFFORTS)[number]

/** How much to think, and what of it to show. */
export interface ReasoningWish {
  readonly effort?: Effort
  /** Limit of thinking tokens; -1: as many as the upstream sees fit. */
  readonly budget?: number
  /** The upstream decides by itself, guided by `effort` if it is set. */
  readonly adaptive?: boolean
  /** Whether thoughts are shown; `concise` and `detailed` are for protocols that tell them apart. */
  readonly show?: 'none' | 'auto' | 'concise' | 'detailed'
  /** Whether the client wants sealed thoughts, to send them back. */
  readonly sealed?: boolean
}

/** Why an answer ended. `pause`: the upstream wants to be asked again; `context`: the model's window is full. */
export type EndReason = 'stop' | 'length' | 'tool' | 'filter' | 'refusal' | 'pause' | 'context' | 'malformed' | 'other'

export interface End {
  readonly reason: EndReason
  /** The stop sequence that was met. */
  readonly stopSequence?: string
  /** The upstream's own word for it, or its explanation. */
  readonly detail?: string
}

/** Tokens of an answer that is one document. */
export interface Counted {
  readonly input?: number
  readonly output?: number
}

/** Tokens. `input` counts what came from caches and went into them; `output` counts thoughts. */
export interface TextUsage extends Counted {
  readonly cached?: number
  readonly cacheWrite?: number
  readonly reasoning?: number
  readonly inputAudio?: number
  readonly outputAudio?: number
  /** Only where `input` and `output` are both unknown. */
  readonly total?: number
  /** Searches that the upstream made. */
  readonly searches?: number
}

/** One whole answer. */
export interface TextResult {
  /** The upstream's id; empty where it has none. */
  readonly id: string
  /** The model as the upstream names it; empty where it does not. */
  readonly model: string
  /** Seconds since the epoch. */
  readonly created?: number
  /** At least one, in the order of their index. */
  readonly candidates: readonly Candidate[]
  readonly usage?: TextUsage
  readonly serviceTier?: string
}

export interface Candidate {
  readonly parts: readonly Part[]
  readonly end: End
}

/**
 * An answer's events. `start` is first; each part starts, grows and ends; each candidate ends once, after its parts;
 * the last event is one `finish` or one `error`. Parts of a candidate are numbered from 0 without gaps, in the order in
 * which they start; several may be open at once.
 */
export type TextEvent =
  | {
      readonly type: 'start'
      readonly id: string
      readonly model: string
      readonly created?: number
      readonly usage?: TextUsage
    }
  | { readonly type: 'part-start'; readonly candidate: number; readonly index: number; readonly part: Part }
  | {
      readonly type: 'part-delta'
      readonly candidate: number
      readonly index: number
      /** Goes to the end of the part's text, or of a call's arguments. */
      readonly text: string
      readonly logprobs?: readonly TokenLogprob[]
    }
  | { readonly type: 'part-citation'; readonly candidate: number; readonly index: number; readonly citation: Citation }
  | {
      readonly type: 'part-end'
      readonly candidate: number
      readonly index: number
      /** A seal that became known at the end. */
      readonly seal?: Seal
    }
  | { readonly type: 'end'; readonly candidate: number; readonly end: End }
  /** The client's protocol may show that the upstream is alive. */
  | { readonly type: 'ping' }
  | { readonly type: 'finish'; readonly usage?: TextUsage; readonly serviceTier?: string }
  | { readonly type: 'error'; readonly error: GatewayError }
