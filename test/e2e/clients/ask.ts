/** One conversation, in words that every client library can say. */
export interface Ask {
  readonly origin: string
  readonly key: string
  readonly model: string
  readonly stream: boolean
  readonly system?: string
  readonly turns: readonly Turn[]
  readonly tools?: readonly Tool[]
  /** Name of the tool that has to be called, or whether one has to be. */
  readonly choice?: 'required' | { readonly name: string }
  readonly schema?: Readonly<Record<string, unknown>>
  readonly effort?: 'low' | 'medium' | 'high'
  readonly maxTokens?: number
  readonly stop?: readonly string[]
  /** Answers a call; with it the conversation continues until the model calls no more. */
  readonly run?: (name: string, input: unknown) => string
}

export interface Turn {
  readonly role: 'user' | 'assistant'
  readonly text: string
  /** PNG, base64. */
  readonly image?: string
  /** PDF, base64. */
  readonly pdf?: string
}

export interface Tool {
  readonly name: string
  readonly description: string
  readonly schema: Readonly<Record<string, unknown>>
}

/** What one answer of the model was, as the library tells it. */
export interface Told {
  readonly text: string
  readonly reasoning: string
  readonly calls: readonly { readonly name: string; readonly input: unknown }[]
  readonly finish: 'stop' | 'length' | 'tool' | 'other'
  readonly input: number | undefined
  readonly output: number | undefined
  /** Deltas of text, of streams. */
  readonly deltas: number
}

/** Asks, and answers calls until there are none: one {@link Told} for each answer. Throws the library's own errors. */
export type Client = (ask: Ask) => Promise<readonly Told[]>

/** Most answers of one conversation. */
export const MOST_ANSWERS = 4
