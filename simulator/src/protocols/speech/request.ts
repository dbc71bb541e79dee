import { SimulatorError } from '../../errors.js'
import { Fields } from '../../families/fields.js'
import { modelOf } from '../../families/options.js'
import { missing, notListed, wrongType, wrongValue } from '../../families/refusals.js'
import type { Call } from '../../protocol.js'
import { SOUND_FORMATS } from '../../sound/formats.js'

export interface SpeechRequest {
  readonly input: string
  readonly instructions: string
  /** Hertz of the voice's lowest tone. */
  readonly pitch: number
  readonly format: Format
  readonly speed: number
  readonly events: boolean
}

export type Format = keyof typeof SOUND_FORMATS

const FIELDS = ['model', 'input', 'voice', 'instructions', 'response_format', 'speed', 'stream_format']
const FORMATS = Object.keys(SOUND_FORMATS) as readonly Format[]
const MAX_INPUT_CHARS = 4096
const SPEEDS = { min: 0.25, max: 4 }
const OWN_VOICE = 'voice_'

/** The voices that the protocol names, each with its own pitch. */
const VOICES: Readonly<Record<string, number>> = {
  ...{ alloy: 220, ash: 147, ballad: 165, coral: 262, echo: 131, fable: 196, onyx: 98, nova: 294 },
  ...{ sage: 247, shimmer: 330, verse: 175, marin: 277, cedar: 110 },
}
const CUSTOM_VOICE_PITCH_HZ = 208

/** Reads and checks a request for speech; throws {@link SimulatorError}. */
export function readSpeechRequest({ body: object }: Pick<Call, 'body'>): SpeechRequest {
  const body = new Fields(object).only(FIELDS)
  modelOf(body)
  const input = readText(body, 'input')
  if (input === undefined) throw missing('input')
  if (input.trim() === '') throw wrongValue('input', "Invalid 'input': it must not be empty.")
  return {
    input,
    instructions: readText(body, 'instructions') ?? '',
    pitch: readVoice(body),
    format: body.oneOf('response_format', FORMATS) ?? 'wav',
    speed: body.number('speed', SPEEDS) ?? 1,
    events: body.oneOf('stream_format', ['audio', 'sse']) === 'sse',
  }
}

function readText(body: Fields, name: string): string | undefined {
  const text = body.string(name)
  if (text === undefined || text.length <= MAX_INPUT_CHARS) return text
  const message =
    `Invalid '${name}': string too long. Expected a string with maximum length ${MAX_INPUT_CHARS}, ` +
    `but got a string with length ${text.length} instead.`
  throw new SimulatorError(400, message, { param: name, code: 'string_above_max_length' })
}

/** A name, or an object with the id of a voice that somebody had made. */
function readVoice(body: Fields): number {
  const raw = body.raw('voice')
  if (raw === undefined) throw missing('voice')
  if (typeof raw === 'string') return pitchOf(raw, 'voice')
  if (typeof raw !== 'object') throw wrongType('voice', 'a string or an object', `a ${typeof raw}`)
  const voice = body.need('voice', body.fields)
  const id = voice.need('id', voice.string)
  return id.startsWith(OWN_VOICE) ? CUSTOM_VOICE_PITCH_HZ : pitchOf(id, 'voice.id')
}

/** Hertz of a voice; throws where the protocol does not name it. */
export function pitchOf(voice: string, param: string): number {
  const pitch = Object.hasOwn(VOICES, voice) ? VOICES[voice] : undefined
  if (pitch === undefined) throw notListed(param, voice, Object.keys(VOICES))
  return pitch
}
