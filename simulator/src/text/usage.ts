import type { Faults } from '../faults/table.js'
import type { Media, Part, TextRequest, Tool, Turn } from './conversation.js'
import { countTokens } from './tokens.js'

/** What a prompt costs, in tokens. The media are part of `input`. */
export interface PromptTokens extends Readonly<Record<Media['kind'], number>> {
  readonly input: number
}

const TURN_TOKENS = 4
const ANSWER_TOKENS = 3
const IMAGE_TOKENS = 85
const AUDIO_BYTES_PER_TOKEN = 1600
const FILE_BYTES_PER_TOKEN = 100

/**
 * Counts a prompt: its text, 4 tokens a turn and 3 for the answer, the JSON of each tool's schema, 85 an image, one for
 * each 1,600 bytes of sound and each 100 bytes of a file.
 */
export function promptTokens({ turns, tools }: Pick<TextRequest, 'turns' | 'tools'>): PromptTokens {
  const media = turns.flatMap(turn => turn.parts).flatMap(mediaOf)
  const of = (kind: Media['kind']) => sum(media.map(each => (each.kind === kind ? mediaTokens(each) : 0)))
  const input = sum(turns.map(turnTokens)) + sum(tools.map(toolTokens)) + ANSWER_TOKENS
  return { input, image: of('image'), audio: of('audio'), file: of('file') }
}

function mediaOf(part: Part): readonly Media[] {
  return part.type === 'media' ? [part.media] : part.type === 'result' ? (part.media ?? []) : []
}

function turnTokens(turn: Turn): number {
  return TURN_TOKENS + sum(turn.parts.map(partTokens))
}

/** What one part costs. */
export function partTokens(part: Part): number {
  switch (part.type) {
    case 'text':
      return countTokens(part.text)
    case 'result':
      return countTokens(part.text) + sum((part.media ?? []).map(mediaTokens))
    case 'call':
      return countTokens(part.name) + countTokens(part.arguments)
    case 'media':
      return mediaTokens(part.media)
  }
}

function mediaTokens({ kind, bytes = 0 }: Media): number {
  if (kind === 'image') return IMAGE_TOKENS
  return 1 + Math.floor(bytes / (kind === 'audio' ? AUDIO_BYTES_PER_TOKEN : FILE_BYTES_PER_TOKEN))
}

/** What the definition of a tool costs. */
export function toolTokens(tool: Tool): number {
  return TURN_TOKENS + countTokens(tool.name) + countTokens(JSON.stringify(tool.schema ?? {}))
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0)
}

/** Applies the `usage` fault to the token counts of an answer, nested ones included. */
export function spoiled<T extends object>(counts: T, { usage }: Faults): T | undefined {
  if (usage === undefined) return counts
  if (usage === 'none') return undefined
  return JSON.parse(JSON.stringify(counts), (_, value) => (typeof value === 'number' ? WRONG[usage](value) : value))
}

const WRONG = {
  negative: (count: number) => -1 - count,
  huge: () => 1e300,
  text: (count: number) => String(count),
} as const
