import type { SpeakRequest, SpeakResult } from '../../core/audio.js'
import type { Bytes, Frame, RequestHead } from '../../core/codec.js'
import { isObject, type JsonObject } from '../../core/json.js'
import { given, invalid, leaveOthers, Reader } from '../read.js'

import { SPEECH_FIELDS } from './fields.js'
import { pcmOf, wavOf } from './sound.js'

const MEMBERS = new Set(Object.keys(SPEECH_FIELDS))

/** Bytes of sound in an event: a multiple of three, so that no base64 is padded before the last. */
const EVENT_SOUND_BYTES = 96 * 1024

/** CreateSpeechRequest in canonical form. `format` is another name of `response_format`, which wins if both are given. */
export function decodeRequest(value: JsonObject, head: RequestHead): SpeakRequest {
  const body = new Reader(value)
  const left: SpeakRequest['left'][number][] = []
  leaveOthers(body, MEMBERS, left)
  const text = body.required('input')
  if (text.trim() === '') throw invalid('input', 'it is empty')
  return {
    model: head.model,
    text,
    stream: readStream(body),
    ...readVoice(body),
    ...given({
      format: (body.string('response_format') ?? body.string('format'))?.toLowerCase(),
      instructions: body.string('instructions') || undefined,
      speed: body.number('speed'),
    }),
    left,
  }
}

function readStream(body: Reader): boolean {
  const form = body.string('stream_format') ?? 'audio'
  if (form === 'audio' || form === 'sse') return form === 'sse'
  throw invalid('stream_format', "expected 'audio' or 'sse'")
}

function readVoice(body: Reader): Pick<SpeakRequest, 'voice' | 'ownVoice'> {
  const voice = body.raw('voice')
  if (voice === undefined) return {}
  if (typeof voice === 'string') return { voice }
  if (isObject(voice)) return { ownVoice: new Reader(voice, 'voice').required('id') }
  throw invalid('voice', 'expected a name, or an object with an id')
}

/** The sound in the form that was asked for; WAV where none was. */
export function encodeBytes({ sound }: SpeakResult, { format }: SpeakRequest): Bytes {
  return format === 'pcm' ? { type: 'audio/pcm', bytes: pcmOf(sound) } : { type: 'audio/wav', bytes: wavOf(sound) }
}

/** The same as the events of a stream (SpeechAudioDeltaEvent, SpeechAudioDoneEvent), which have no names of their own. */
export function encodeEvents(result: SpeakResult, request: SpeakRequest): readonly Frame[] {
  const bytes = Buffer.from(encodeBytes(result, request).bytes)
  const frames: Frame[] = []
  for (let at = 0; at < bytes.length; at += EVENT_SOUND_BYTES) {
    frames.push(frame({ type: 'speech.audio.delta', audio: bytes.toString('base64', at, at + EVENT_SOUND_BYTES) }))
  }
  const { input = 0, output = 0 } = result
  const usage = { input_tokens: input, output_tokens: output, total_tokens: input + output }
  return [...frames, frame({ type: 'speech.audio.done', usage })]
}

function frame(event: JsonObject): Frame {
  return { data: JSON.stringify(event) }
}
