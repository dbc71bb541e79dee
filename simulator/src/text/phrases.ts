import type { Seed } from '../seed.js'
import type { Media, ResultPart, TextRequest } from './conversation.js'
import { freshResults, lastUserText } from './conversation.js'
import { countTokens, tokenize } from './tokens.js'

type Sentences = readonly [string, ...string[]]

const MAX_QUOTED_CHARS = 200
const CLOSING_PHRASES = [
  'The same request always gets the same answer.',
  'Nothing was sent to anybody to write this.',
  'Ask for a tool by its name and I will call it.',
  'Change a word of your request and these words may change too.',
] as const
const FILLER_PHRASES = [
  'This sentence stands here to make up the length that was asked for.',
  'No model thought about it, and no meaning should be looked for.',
  'Each word is chosen by the request alone.',
  'The stream goes on until its last token has been sent.',
] as const

/** A short answer that quotes the user and says that it comes from the simulator. */
export function shortAnswer(request: TextRequest): string {
  return [subject(request), 'I am the simulator: this answer is made from your request, with no model behind it.']
    .concat(request.seed.fork('closing').pick(CLOSING_PHRASES))
    .join(' ')
}

function subject({ turns }: TextRequest): string {
  const results = freshResults(turns)
  if (results.length > 0) return results.map(outcome).join(' ')
  const text = lastUserText(turns)
  const said = text === '' ? 'You sent no text.' : `You said: ${quote(text)}.`
  const parts = turns.findLast(turn => turn.role === 'user')?.parts ?? []
  return [said, ...sights(parts.flatMap(part => (part.type === 'media' ? [part.media] : [])))].join(' ')
}

function outcome({ text, media = [], failed }: ResultPart): string {
  return [`The tool ${failed ? 'failed' : 'answered'}: ${quote(text)}.`, ...sights(media)].join(' ')
}

function quote(text: string): string {
  const start = [...text.slice(0, MAX_QUOTED_CHARS * 2)]
  return `"${start.slice(0, MAX_QUOTED_CHARS).join('')}${start.length > MAX_QUOTED_CHARS ? '…' : ''}"`
}

const SIGHTS = { image: ['I see', 'image'], audio: ['I hear', 'audio clip'], file: ['I have', 'file'] } as const

function sights(media: readonly Media[]): readonly string[] {
  return (['image', 'audio', 'file'] as const).flatMap(kind => {
    const found = media.filter(each => each.kind === kind)
    const [verb, noun] = SIGHTS[kind]
    const label = `${found.length} ${noun}${found.length === 1 ? '' : 's'}`
    return found.length === 0 ? [] : [`${verb} ${label} (${found.map(describe).join('; ')}).`]
  })
}

function describe({ type, bytes }: Media): string {
  return `${type ?? 'by reference'}${bytes === undefined ? '' : `, ${bytes} bytes`}`
}

/** Sentences of simulated reasoning. */
export const THOUGHTS: Sentences = [
  'First I look at what was said.',
  'Then I look for a tool that is called by its name.',
  'I need not know anything to answer.',
  'A short answer will do.',
]

/** A text of exactly `tokens` tokens. */
export function filler(tokens: number, seed: Seed, from: Sentences = FILLER_PHRASES): string {
  const sentences: string[] = []
  for (let have = 0; have < tokens; have += countTokens(sentences.at(-1) ?? '')) {
    sentences.push(seed.fork(sentences.length).pick(from))
  }
  return tokenize(sentences.join(' ')).slice(0, tokens).join('')
}
