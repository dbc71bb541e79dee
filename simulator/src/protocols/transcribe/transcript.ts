import { samplesOf } from '../../sound/speech.js'
import type { TranscribeRequest } from './request.js'

/** A stretch of a recording, in seconds from its beginning, and what is said in it. */
export interface Spoken {
  readonly start: number
  readonly end: number
  readonly text: string
}

export interface Segment extends Spoken {
  readonly speaker: string
}

/** What is written down of a recording. */
export interface Transcript {
  readonly text: string
  readonly duration: number
  readonly segments: readonly Segment[]
  readonly words: readonly Spoken[]
}

const LETTER_A = 65
const DIACRITICS = /\p{M}/gu
const NOT_ASCII = /[^\p{ASCII}]+/gu
const SENTENCE = /[^.!?\n]*(?:[.!?]+|\n|$)\s*/g
/** `Anna: hello`: one line of a conversation. */
const LINE = /^([\p{L}\d ]{1,32}):\s+(\S.*)$/u

/**
 * What is said in a recording. The simulator's own speech carries its text, and its times follow from that; of everything
 * else there is only to say that no words were understood.
 */
export function transcribe({ transcription, task, speakers }: TranscribeRequest): Transcript {
  const said = transcription.text ?? NOT_UNDERSTOOD(transcription.container)
  const text = task === 'translate' ? inEnglish(said) : said
  const pieces = turnsOf(text, speakers)
  const segments = timed(
    pieces.map(piece => piece.text),
    transcription.duration,
  ).map((segment, index) => ({ ...segment, speaker: pieces[index]?.speaker ?? 'A' }))
  return {
    text,
    duration: transcription.duration,
    segments,
    words: timed(text.match(/\S+/g) ?? [], transcription.duration),
  }
}

/** What there is to say of any other recording. */
export const NOT_UNDERSTOOD = (container: string): string =>
  `The simulator understands only its own speech, and this ${container} recording is none.`

/** What is English already stays; of other languages the simulator knows the letters and not the words. */
export function inEnglish(text: string): string {
  const plain = text.normalize('NFKD').replace(DIACRITICS, '').replace(NOT_ASCII, '…').trim()
  if (plain === text) return text
  const count = text.match(/\S+/g)?.length ?? 0
  return `Somebody says ${count} ${count === 1 ? 'word' : 'words'} that are not English: ${plain}`
}

interface Turn {
  readonly speaker: string
  readonly text: string
}

/** Sentences with their speakers. The lines of a conversation name them; else there is one. */
function turnsOf(text: string, known: readonly string[]): readonly Turn[] {
  const speakers: string[] = []
  let current = 0
  return (text.match(SENTENCE) ?? []).flatMap(sentence => {
    const trimmed = sentence.trim()
    if (trimmed === '') return []
    const name = LINE.exec(trimmed)?.[1]
    if (name !== undefined && !speakers.includes(name)) speakers.push(name)
    if (name !== undefined) current = speakers.indexOf(name)
    return [{ speaker: known[current] ?? String.fromCharCode(LETTER_A + (current % 26)), text: trimmed }]
  })
}

/** Shares the time of a recording out among texts, by how long it takes to say them. */
function timed(texts: readonly string[], duration: number): readonly Spoken[] {
  const lengths = texts.map(text => samplesOf({ text, pitch: 0, speed: 1 }))
  const all = lengths.reduce((sum, length) => sum + length, 0)
  let before = 0
  return texts.map((text, index) => {
    const start = seconds((before / all) * duration)
    before += lengths[index] ?? 0
    return { start, end: seconds((before / all) * duration), text }
  })
}

/** To the millisecond. */
function seconds(time: number): number {
  return Math.round(time * 1000) / 1000
}
