/** A file that goes with the user's text. */
export interface Attachment {
  readonly kind: 'image' | 'audio' | 'file'
  readonly name: string
  readonly type: string
  /** In Base64. */
  readonly data: string
}

export interface Tool {
  readonly name: string
  readonly description?: string
  /** A JSON Schema. */
  readonly parameters?: object
}

export const EFFORTS = ['low', 'medium', 'high'] as const

/** What one says to a model, in every protocol. */
export interface Conversation {
  readonly model: string
  readonly system: string
  readonly text: string
  readonly isStream: boolean
  readonly maxTokens: number
  readonly files: readonly Attachment[]
  readonly tools: readonly Tool[]
  /** A JSON Schema that the answer has to fit. */
  readonly schema: object | undefined
  readonly effort: (typeof EFFORTS)[number] | undefined
  /** The answer is spoken. */
  readonly isSpoken: boolean
}

/** What a document of an answer adds: an event of a stream, or the whole answer. */
export interface Piece {
  readonly text?: string
  readonly thought?: string
  /** Of calls of tools: their names and arguments. */
  readonly call?: string
  /** A sound in Base64. */
  readonly sound?: string
}

/** Tokens that a model may think, where a protocol counts them. */
export const THINKING_TOKENS: Readonly<Record<(typeof EFFORTS)[number], number>> = {
  low: 1024,
  medium: 4096,
  high: 16_384,
}

export function dataUrl({ type, data }: Attachment): string {
  return `data:${type};base64,${data}`
}

/** `wav` of `audio/wav`. */
export function formatOf({ type }: Attachment): string {
  return type.replace(/^audio\/(x-)?/, '').replace('mpeg', 'mp3')
}

export const EXAMPLE_TOOLS = `[{
  "name": "get_weather",
  "description": "The weather of a city",
  "parameters": {
    "type": "object",
    "properties": { "city": { "type": "string" } },
    "required": ["city"]
  }
}]`

export const EXAMPLE_SCHEMA = `{
  "type": "object",
  "properties": { "greeting": { "type": "string" }, "words": { "type": "integer" } },
  "required": ["greeting", "words"],
  "additionalProperties": false
}`
