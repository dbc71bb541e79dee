import type { HearRequest, HearResult } from '../../core/audio.js'
import type { Bytes, Frame, RequestHead } from '../../core/codec.js'
import type { FieldMapping } from '../../core/fields.js'
import type { Json, JsonObject } from '../../core/json.js'
import type { MediaPart } from '../../core/text.js'
import { parseDataUrl } from '../media.js'
import { compact, given, invalid, leaveOthers, Reader } from '../read.js'

/**
 * What a form becomes of CreateTranscriptionRequest or CreateTranslationRequest, in canonical form: the file is a data
 * URL, and numbers are texts.
 */
export function decodeForm(fields: Readonly<Record<string, FieldMapping<string>>>) {
  const members = new Set(Object.keys(fields))
  return (value: JsonObject, head: RequestHead): HearRequest => {
    const body = new Reader(value)
    const left: HearRequest['left'][number][] = []
    leaveOthers(body, members, left)
    const asks = (name: string): true | undefined => (members.has(name) && body.has(name) ? true : undefined)
    return {
      model: head.model,
      stream: head.stream,
      recording: readRecording(body.raw('file')),
      ...given({
        language: members.has('language') ? body.string('language') || undefined : undefined,
        prompt: body.string('prompt') || undefined,
        format: body.string('response_format')?.toLowerCase(),
        temperature: readNumber(body, 'temperature'),
        times: asks('timestamp_granularities'),
        logprobs: asks('include'),
        chunks: asks('chunking_strategy'),
        speakers: asks('known_speaker_names') ?? asks('known_speaker_references'),
      }),
      left,
    }
  }
}

function readNumber(body: Reader, name: string): number | undefined {
  const text = body.string(name)
  if (text === undefined || text.trim() === '') return undefined
  const number = Number(text)
  if (Number.isFinite(number)) return number
  throw invalid(name, 'expected a number')
}

/** How recordings begin: bytes at an offset. What clients say of them is not trusted. */
const SIGNATURES: readonly (readonly [mime: string, offset: number, mark: string])[] = [
  ['audio/wav', 8, 'WAVE'],
  ['audio/aiff', 8, 'AIF'],
  ['audio/mpeg', 0, 'ID3'],
  ['audio/mpeg', 0, '\xff\xfb'],
  ['audio/mpeg', 0, '\xff\xf3'],
  ['audio/mpeg', 0, '\xff\xf2'],
  ['audio/aac', 0, '\xff\xf1'],
  ['audio/aac', 0, '\xff\xf9'],
  ['audio/ogg', 0, 'OggS'],
  ['audio/flac', 0, 'fLaC'],
  ['audio/mp4', 4, 'ftyp'],
  ['audio/webm', 0, '\x1a\x45\xdf\xa3'],
]

/** Characters of base64 that contain all of these. */
const SIGNATURE_CHARS = 32

function readRecording(file: Json | undefined): MediaPart {
  if (Array.isArray(file)) throw invalid('file', 'expected one recording')
  const base64 = typeof file === 'string' ? parseDataUrl(file)?.base64 : undefined
  if (base64 === undefined) throw invalid('file', file === undefined ? 'it is required' : 'expected a file')
  const beginning = Buffer.from(base64.slice(0, SIGNATURE_CHARS), 'base64').toString('latin1')
  const mime = SIGNATURES.find(([, offset, mark]) => beginning.startsWith(mark, offset))?.[0]
  if (mime === undefined) throw invalid('file', 'expected a recording: WAV, MP3, AIFF, AAC, Ogg, FLAC, MP4 or WebM')
  return { type: 'media', kind: 'audio', mime, source: { base64 }, at: 'file' }
}

/** The transcript as text, where that was asked for. */
export function encodeText({ text }: HearResult, { format }: HearRequest): Bytes | undefined {
  return format === 'text' ? { type: 'text/plain; charset=utf-8', bytes: Buffer.from(`${text}\n`) } : undefined
}

export function encodeTranscription(result: HearResult): JsonObject {
  return compact({ text: result.text, usage: usageOf(result) })
}

export function encodeTranslation({ text }: HearResult): JsonObject {
  return { text }
}

/** The whole transcript as the events of a stream (TranscriptTextDeltaEvent, TranscriptTextDoneEvent). */
export function encodeEvents(result: HearResult): readonly Frame[] {
  const { text } = result
  return [
    ...(text === '' ? [] : [frame({ type: 'transcript.text.delta', delta: text })]),
    frame(compact({ type: 'transcript.text.done', text, usage: usageOf(result) })),
  ]
}

function usageOf({ input, output, inputAudio }: HearResult): JsonObject | undefined {
  if (input === undefined || output === undefined) return undefined
  const audio = Math.min(input, inputAudio ?? 0)
  return compact({
    type: 'tokens',
    input_tokens: input,
    input_token_details: inputAudio === undefined ? undefined : { text_tokens: input - audio, audio_tokens: audio },
    output_tokens: output,
    total_tokens: input + output,
  })
}

function frame(event: JsonObject): Frame {
  return { data: JSON.stringify(event) }
}
