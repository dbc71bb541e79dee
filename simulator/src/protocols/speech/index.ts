import { compatible } from '../../families/compatible.js'
import { EVENT_STREAM, type Protocol, type StreamEvent } from '../../protocol.js'
import { SOUND_FORMATS, type SoundFormat } from '../../sound/formats.js'
import { samplesOf } from '../../sound/speech.js'
import { SAMPLE_RATE } from '../../sound/wav.js'
import { countTokens } from '../../text/tokens.js'
import { spoiled } from '../../text/usage.js'
import { readSpeechRequest, type SpeechRequest } from './request.js'

/** `POST /v1/audio/speech`: a tone for each letter, in files that hold the text as well, or as bare samples. */
export const speech: Protocol = {
  method: 'POST',
  path: '/v1/audio/speech',
  body: 'json',
  family: compatible,
  models: ['sim-speech'],
  answer: ({ body, faults, requestId }) => {
    const request = readSpeechRequest({ body })
    const format: SoundFormat = SOUND_FORMATS[request.format]
    const pieces = format.pieces(utterance(request))
    if (!request.events) {
      const headers = { 'content-type': format.type }
      return { kind: 'bytes', headers, length: format.length(utterance(request)), pieces }
    }
    return {
      kind: 'events',
      headers: EVENT_STREAM,
      events: events(pieces, spoiled(usageOf(request), faults)),
      failure: error => [{ data: JSON.stringify({ type: 'error', ...compatible.body(error, requestId) }) }],
    }
  },
}

function utterance({ input, pitch, speed }: SpeechRequest) {
  return { text: input, pitch, speed }
}

/** Without names of their own: the `type` tells them apart, as in other streams of audio. */
function* events(pieces: Iterable<Buffer>, usage: object | undefined): Generator<StreamEvent> {
  for (const piece of pieces) yield event({ type: 'speech.audio.delta', audio: piece.toString('base64') })
  yield { ...event({ type: 'speech.audio.done', usage }), terminal: true }
}

const TOKENS_PER_SECOND = 20

function usageOf(request: SpeechRequest) {
  const input_tokens = countTokens(request.input) + countTokens(request.instructions)
  const output_tokens = Math.ceil((samplesOf(utterance(request)) / SAMPLE_RATE) * TOKENS_PER_SECOND)
  return { input_tokens, output_tokens, total_tokens: input_tokens + output_tokens }
}

function event(data: object): StreamEvent {
  return { data: JSON.stringify(data) }
}
