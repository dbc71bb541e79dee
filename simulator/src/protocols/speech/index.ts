import { SimulatorError } from '../../errors.js'
import { compatible } from '../../families/compatible.js'
import { Fields } from '../../families/fields.js'
import { modelOf } from '../../families/options.js'
import { missing, notListed, wrongType, wrongValue } from '../../families/refusals.js'
import { type Call, dataEvent, type EventStream, endpoint, eventStream, type StreamEvent } from '../../protocol.js'
import { SOUND_FORMATS } from '../../sound/formats.js'
import { samplesOf } from '../../sound/speech.js'
import { SAMPLE_RATE } from '../../sound/wav.js'
import { countTokens } from '../../text/tokens.js'
import { spoiled } from '../../text/usage.js'

/** `POST /v1/audio/speech`: a tone for each letter, in files that hold the text as well, or as bare samples. */
export const speech = endpoint(
  compatible,
  'POST /v1/audio/speech',
  { body: 'json', models: ['sim-speech'] },
  ({ body, faults, requestId }) => {
    const request = readSpeechRequest({ body })
    const { type, pieces } = SOUND_FORMATS[request.format]
    const sound = pieces(utterance(request))
    if (!request.events) return { kind: 'bytes', headers: { 'content-type': type }, pieces: sound }
    const failure: EventStream['failure'] = error => [
      dataEvent({ type: 'error', ...compatible.body(error, requestId) }),
    ]
    return eventStream(events(sound, spoiled(usageOf(request), faults)), failure)
  },
)

function utterance({ input, pitch, speed }: SpeechRequest) {
  return { text: input, pitch, speed }
}

/** Without names of their own: the `type` tells them apart, as in other streams of audio. */
function* events(pieces: Iterable<Buffer>, usage: object | undefined): Generator<StreamEvent> {
  for (const piece of pieces) yield dataEvent({ type: 'speech.audio.delta', audio: piece.toString('base64') })
  yield { ...dataEvent({ type: 'speech.audio.done', usage }), terminal: true }
}

const TOKENS_PER_SECOND = 20

function usageOf(request: SpeechRequest) {
  const input_tokens = countTokens(request.input) + countTokens(request.instructions)
  const output_tokens = Math.ceil((samplesOf(utterance(request)) / SAMPLE_RATE) * TOKENS_PER_SECOND)
  return { input_tokens, output_tokens, total_tokens: input_tokens + output_tokens }
}

interface SpeechRequest {
  readonly input: string
  readonly instructions: string
  /** Hertz of the voice's lowest tone. */
  readonly pitch: number
  readonly format: Format
  readonly speed: number
  readonly events: boolean
}

type Format = keyof typeof SOUND_FORMATS

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
function readSpeechRequest({ body: object }: Pick<Call, 'body'>): SpeechRequest {
  const body = new Fields(object).only(FIELDS)
  modelOf(body)
  const input = readText(body, 'input')
  if (input === undefined) throw missing('input')
  if (input.trim() === '') throw wrongValue('input', "Invalid 'input': it must not be empty.")
  return {
    input,
    instructions: readText(body, 'instructions') ?? '',
    pitch: readVoice(body),
    format: body.oneOf('response_format', FORMATS) ?? 'mp3',
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

/** A name, or an object with the id of a custom voice. */
function readVoice(body: Fields): number {
  const raw = body.need('voice', body.raw)
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
