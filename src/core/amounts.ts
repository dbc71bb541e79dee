/** Dotted paths; of several the largest number counts. */
export type AmountsConfig = Readonly<
  Partial<Record<'output' | 'choices' | 'images' | 'characters' | 'items' | 'seconds', string | readonly string[]>>
> & {
  /** The body has sound to be heard. */
  readonly audio?: boolean
  /** The body is many requests, whose answers come later. */
  readonly batch?: boolean
  /** Upstreams charge nothing. */
  readonly free?: boolean
  /** Images of a request that does not say how many. */
  readonly images_unsaid?: number
  readonly token_bytes?: number
}

/** Where requests say how much they ask for: paths, split, of which the largest number counts. None: it is not asked for. */
export interface AmountPaths {
  /** Most tokens of an answer. */
  readonly output: readonly (readonly string[])[]
  /** Number of answers, or a list with an element for each. */
  readonly choices: readonly (readonly string[])[]
  readonly images: readonly (readonly string[])[]
  /** Text to be spoken. */
  readonly characters: readonly (readonly string[])[]
  /** A list of prompts, each with answers of its own, or of what is searched. */
  readonly items: readonly (readonly string[])[]
  /** Of video. */
  readonly seconds: readonly (readonly string[])[]
  /** Whether the body has sound to be heard. */
  readonly audio: boolean
  /** Whether the body is many requests (its items), whose answers come later. */
  readonly batch: boolean
  /** Whether upstreams charge nothing. */
  readonly free: boolean
  /** Images of a request that does not say how many. Absent: one. */
  readonly imagesUnsaid?: number | undefined
  /** Bytes of a stream for each token of its answer. */
  readonly tokenBytes?: number | undefined
}

/** What the verbs of a target may change of what a request asks for. */
export interface VerbAmounts {
  /** Of what is sent, where a verb names one of them. */
  readonly paths: AmountPaths | undefined
  /** Bytes of text that they add at most. */
  readonly text: number
}

/** What a request asks for, at most. */
export interface Demand {
  /** Tokens of the input: no tokenizer makes more than one of a byte. Media have a flat bound each. */
  readonly input: number
  /** What the input most likely is, in tokens, for answers that report no usage. */
  readonly likelyInput: number
  /** Media among it that are small or only named; each is in it with the rate of one. */
  readonly links: number
  /** Tokens of one answer, as the request itself bounds them. */
  readonly output: number | undefined
  /** Answers altogether. */
  readonly choices: number
  readonly images: number
  readonly characters: number
  readonly searches: number
  /** Of a batch, 0 where the request does not say; else one. */
  readonly requests: number
  /** Of video. */
  readonly seconds: number
  /** Whether the request says them. */
  readonly saysSeconds: boolean
  /** Of sound to be heard, at most and most likely. */
  readonly audioSeconds: number
  readonly likelyAudioSeconds: number
}
