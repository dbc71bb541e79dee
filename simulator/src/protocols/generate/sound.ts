import type { Fields } from '../../families/fields.js'
import { badArgument } from '../../families/native.js'
import { samplesOf, synthesize } from '../../sound/speech.js'
import { transcribeSound } from '../../sound/transcription.js'
import { SAMPLE_RATE } from '../../sound/wav.js'
import { inEnglish, NOT_UNDERSTOOD } from '../transcribe/transcript.js'
import type { Speech } from './contents.js'

/** Voices that the protocol names, from the lowest to the highest. */
const VOICES = [
  ...['algenib', 'charon', 'iapetus', 'enceladus', 'orus', 'fenrir', 'umbriel', 'algieba', 'schedar', 'alnilam'],
  ...['rasalgethi', 'gacrux', 'sadaltager', 'achird', 'zubenelgenubi', 'puck', 'sadachbia', 'sulafat', 'kore'],
  ...['despina', 'vindemiatrix', 'pulcherrima', 'callirrhoe', 'autonoe', 'erinome', 'aoede', 'laomedeia', 'leda'],
  ...['achernar', 'zephyr'],
]
const DEFAULT_VOICE = 'kore'
const LOWEST_PITCH_HZ = 98
const PITCH_STEP_HZ = 8
const MAX_TEXT_CHARS = 4096
const TOKENS_PER_SECOND = 25

/** Hertz of the voice that an answer of sound is spoken with; undefined where no sound is asked for. Throws. */
export function voiceOf(config: Fields, modalities: readonly string[], candidates: number): number | undefined {
  if (!modalities.includes('AUDIO')) return undefined
  if (modalities.length > 1) throw badArgument('The requested combination of response modalities is not supported.')
  if (candidates > 1) throw badArgument('Multiple candidates is not enabled for answers of sound.')
  const voice = config.fields('speechConfig')?.fields('voiceConfig')?.fields('prebuiltVoiceConfig')
  const name = voice?.string('voiceName') ?? DEFAULT_VOICE
  const at = VOICES.indexOf(name.toLowerCase())
  if (at >= 0) return LOWEST_PITCH_HZ + PITCH_STEP_HZ * at
  throw badArgument(`Voice name ${name.slice(0, 64)} is not supported. Allowed voice names are: ${VOICES.join(', ')}`)
}

/** A text as bare samples, and what that costs. Throws where it is too long. */
export function spoken(text: string, pitch: number) {
  if (text.length > MAX_TEXT_CHARS) throw badArgument(`The text to speak is longer than ${MAX_TEXT_CHARS} characters.`)
  const utterance = { text, pitch, speed: 1 }
  const data = Buffer.concat([...synthesize(utterance)]).toString('base64')
  const output = Math.ceil((samplesOf(utterance) / SAMPLE_RATE) * TOKENS_PER_SECOND)
  return { mimeType: `audio/L16;codec=pcm;rate=${SAMPLE_RATE}`, data, output }
}

/** Words that ask for a transcript. */
const ASKS = /\b(?:transcri|translat|write down)/i

/**
 * What is said in the recording of the last turn, where its text asks for that: what the simulator's own speech carries.
 * Throws if the recording cannot be read.
 */
export function transcriptOf(contents: readonly Speech[]): string | undefined {
  const last = contents.at(-1)
  if (last?.role !== 'user') return undefined
  const text = last.parts.map(({ part }) => (part?.type === 'text' ? part.text : '')).join('\n')
  const data = last.parts.map(({ fields }) => fields.fields('inlineData')).find(isRecording)
  if (data === undefined || !ASKS.test(text)) return undefined
  const transcription = transcribeSound(Buffer.from(data.string('data') ?? '', 'base64'))
  if (transcription === undefined) throw badArgument('Unable to process input audio.')
  const said = transcription.text ?? NOT_UNDERSTOOD(transcription.container)
  return /\btranslat/i.test(text) ? inEnglish(said) : said
}

function isRecording(data: Fields | undefined): boolean {
  return data?.string('mimeType')?.startsWith('audio/') === true
}
