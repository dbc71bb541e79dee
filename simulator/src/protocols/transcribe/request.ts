import { SimulatorError } from '../../errors.js'
import { Fields } from '../../families/fields.js'
import { modelOf } from '../../families/options.js'
import { missing, unsupportedValue, wrongValue } from '../../families/refusals.js'
import { typed } from '../../form.js'
import type { Call } from '../../protocol.js'
import { type Transcription, transcribeSound } from '../../sound/transcription.js'

const FORMATS = ['json', 'text', 'srt', 'vtt', 'verbose_json', 'diarized_json'] as const
type TranscriptFormat = (typeof FORMATS)[number]

export interface TranscribeRequest {
  readonly task: 'transcribe' | 'translate'
  readonly transcription: Transcription
  readonly language: string | undefined
  readonly prompt: string
  readonly format: TranscriptFormat
  readonly words: boolean
  readonly segments: boolean
  readonly logprobs: boolean
  readonly stream: boolean
  /** Names for the speakers, in the order in which they speak. */
  readonly speakers: readonly string[]
}

const BOTH = ['model', 'prompt', 'response_format', 'temperature']
const FIELDS = {
  transcribe: [
    ...BOTH,
    ...['language', 'timestamp_granularities', 'include', 'stream', 'chunking_strategy'],
    ...['known_speaker_names', 'known_speaker_references'],
  ],
  translate: BOTH,
}
const STREAMED: readonly TranscriptFormat[] = ['json', 'text', 'diarized_json']
const MIN_AUDIO_SECONDS = 0.1
const MAX_SPEAKERS = 4

/** Reads and checks a request to write down what is said; throws {@link SimulatorError}. */
export function readTranscribeRequest(task: 'transcribe' | 'translate', { body, files = [] }: Call): TranscribeRequest {
  const fields = new Fields(typed(body, { temperature: 'number', stream: 'boolean' })).only(FIELDS[task])
  modelOf(fields)
  const formats = task === 'translate' ? FORMATS.filter(format => format !== 'diarized_json') : FORMATS
  const format = fields.oneOf('response_format', formats) ?? 'json'
  fields.number('temperature', { min: 0, max: 1 })
  const granularities = readListed(fields, 'timestamp_granularities', ['word', 'segment'])
  if (granularities.length > 0 && format !== 'verbose_json') {
    throw unsupportedValue('timestamp_granularities', granularities.join(), "It needs response_format 'verbose_json'.")
  }
  const stream = fields.boolean('stream') === true
  if (stream && !STREAMED.includes(format)) {
    throw unsupportedValue('stream', 'true', `Transcripts in the form '${format}' are not streamed.`)
  }
  return {
    task,
    transcription: readFile(files),
    language: fields.string('language'),
    prompt: fields.string('prompt') ?? '',
    format,
    words: granularities.includes('word'),
    segments: granularities.length === 0 || granularities.includes('segment'),
    logprobs: readListed(fields, 'include', ['logprobs']).length > 0,
    stream,
    speakers: readSpeakers(fields),
  }
}

function readFile(files: Call['files'] = []): Transcription {
  const [file, ...others] = files.filter(({ name }) => name === 'file')
  if (file === undefined) throw missing('file')
  if (others.length > 0 || files.length > 1) throw wrongValue('file', 'One file is taken, in the field `file`.')
  if (file.bytes.length === 0) throw tooShort()
  const transcription = transcribeSound(file.bytes)
  if (transcription === undefined) throw wrongValue('file', 'Audio file might be corrupted or unsupported')
  if (transcription.duration < MIN_AUDIO_SECONDS) throw tooShort()
  return transcription
}

function tooShort(): SimulatorError {
  const message = `Audio file is too short. Minimum audio length is ${MIN_AUDIO_SECONDS} seconds.`
  return new SimulatorError(400, message, { param: 'file', code: 'audio_too_short' })
}

function readListed(fields: Fields, name: string, values: readonly string[]): readonly string[] {
  const listed = fields.strings(name)
  for (const value of listed) new Fields({ [name]: value }).oneOf(name, values)
  return listed
}

function readSpeakers(fields: Fields): readonly string[] {
  const names = fields.strings('known_speaker_names')
  const references = fields.strings('known_speaker_references')
  if (names.length !== references.length || names.length > MAX_SPEAKERS) {
    const message = `Up to ${MAX_SPEAKERS} known speakers have a name and a reference each.`
    throw wrongValue('known_speaker_names', message)
  }
  return names
}
