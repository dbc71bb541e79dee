import { compatible } from '../../families/compatible.js'
import {
  type Answer,
  type Call,
  DONE,
  dataEvent,
  type EventStream,
  endpoint,
  eventStream,
  json,
  type Protocol,
  type StreamEvent,
} from '../../protocol.js'
import { countTokens, tokenize } from '../../text/tokens.js'
import { spoiled } from '../../text/usage.js'
import { readTranscribeRequest, type TranscribeRequest } from './request.js'
import { type Segment, type Spoken, type Transcript, transcribe } from './transcript.js'

/** `POST /v1/audio/transcriptions` and `/v1/audio/translations`: what the simulator's own speech says. */
export const TRANSCRIBE: readonly Protocol[] = [
  protocol('/v1/audio/transcriptions', 'transcribe'),
  protocol('/v1/audio/translations', 'translate'),
]

function protocol(path: string, task: TranscribeRequest['task']): Protocol {
  const options = { body: 'form', models: ['sim-transcribe'] } as const
  return endpoint(compatible, `POST ${path}`, options, call => answer(readTranscribeRequest(task, call), call))
}

function answer(request: TranscribeRequest, call: Call): Answer {
  const transcript = transcribe(request)
  if (!request.stream) return whole(request, transcript, call)
  const failure: EventStream['failure'] = error => [
    dataEvent({ type: 'error', ...compatible.body(error, call.requestId) }),
  ]
  return eventStream(events(request, transcript, call), failure)
}

function whole(request: TranscribeRequest, transcript: Transcript, call: Call): Answer {
  const { text, duration, segments } = transcript
  switch (request.format) {
    case 'text':
      return plain(`${text}\n`)
    case 'srt':
      return plain(srt(segments))
    case 'vtt':
      return plain(vtt(segments))
    case 'json':
      if (request.task === 'translate') return json({ text })
      return json({ text, logprobs: logprobsOf(request, text, call), usage: usageOf(request, transcript, call) })
    case 'diarized_json':
      return json({
        ...{ task: request.task, duration, text, segments: segments.map(diarized) },
        usage: usageOf(request, transcript, call),
      })
    case 'verbose_json':
      return json(verbose(request, transcript, call))
  }
}

function plain(text: string): Answer {
  const headers = { 'content-type': 'text/plain; charset=utf-8' }
  return { kind: 'document', status: 200, headers, body: Buffer.from(text) }
}

function verbose(request: TranscribeRequest, { text, duration, segments, words }: Transcript, call: Call): object {
  const { task, language } = request
  return {
    task,
    language: task === 'translate' ? 'english' : (language ?? 'english'),
    duration,
    text,
    segments: request.segments ? segments.map(timedSegment) : undefined,
    words: request.words ? words.map(({ text: word, start, end }) => ({ word, start, end })) : undefined,
    usage: spoiled({ type: 'duration', seconds: Math.ceil(duration) }, call.faults),
  }
}

/** The numbers of a recogniser that was sure of every word. */
function timedSegment({ start, end, text }: Segment, id: number): object {
  const tokens = tokenize(text).map((_, index) => index + 1)
  const sure = { temperature: 0, avg_logprob: 0, compression_ratio: 1, no_speech_prob: 0 }
  return { id, seek: 0, start, end, text, tokens, ...sure }
}

function diarized({ start, end, text, speaker }: Segment, index: number): object {
  return { type: 'transcript.text.segment', id: `seg_${index}`, start, end, text, speaker }
}

/** Without names of their own: the `type` tells them apart. */
function* events(request: TranscribeRequest, transcript: Transcript, call: Call): Generator<StreamEvent> {
  const { text, segments } = transcript
  if (request.format === 'diarized_json') {
    for (const [index, segment] of segments.entries()) yield dataEvent(diarized(segment, index))
  }
  for (const token of tokenize(text)) {
    yield dataEvent({ type: 'transcript.text.delta', delta: token, logprobs: logprobsOf(request, token, call) })
  }
  const logprobs = logprobsOf(request, text, call)
  yield dataEvent({ type: 'transcript.text.done', text, logprobs, usage: usageOf(request, transcript, call) })
  yield DONE
}

function logprobsOf({ logprobs }: TranscribeRequest, text: string, { seed }: Call): readonly object[] | undefined {
  if (!logprobs) return undefined
  return tokenize(text).map(token => ({
    token,
    logprob: -Math.round(seed.fork('logprob', token).fraction() * 1e6) / 1e7,
    bytes: [...Buffer.from(token)],
  }))
}

const TOKENS_PER_SECOND = 10

function usageOf({ prompt }: TranscribeRequest, { text, duration }: Transcript, { faults }: Call): object | undefined {
  const audio_tokens = Math.ceil(duration * TOKENS_PER_SECOND)
  const text_tokens = countTokens(prompt)
  const input_tokens = audio_tokens + text_tokens
  const output_tokens = countTokens(text)
  const total_tokens = input_tokens + output_tokens
  const input_token_details = { text_tokens, audio_tokens }
  return spoiled({ type: 'tokens', input_tokens, input_token_details, output_tokens, total_tokens }, faults)
}

/** SubRip: numbered, with commas in the times. */
function srt(segments: readonly Spoken[]): string {
  return segments.map((each, index) => `${index + 1}\n${times(each, ',')}\n${each.text}\n\n`).join('')
}

/** WebVTT, with its first line. */
function vtt(segments: readonly Spoken[]): string {
  return `WEBVTT\n\n${segments.map(each => `${times(each, '.')}\n${each.text}\n\n`).join('')}`
}

function times({ start, end }: Spoken, point: ',' | '.'): string {
  return `${time(start, point)} --> ${time(end, point)}`
}

function time(seconds: number, point: ',' | '.'): string {
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60]
  const rest = (seconds % 60).toFixed(3).replace('.', point)
  return `${two(hours)}:${two(minutes)}:${rest.padStart(6, '0')}`
}

function two(number: number): string {
  return String(number).padStart(2, '0')
}
