import { compatible } from '../../families/compatible.js'
import { EVENT_STREAM, json, type Protocol, type StreamEvent } from '../../protocol.js'
import { type Choice, type Completion, complete } from './completion.js'
import { type CompletionRequest, readCompletion } from './request.js'

/** `POST /v1/completions`, the older protocol that continues a text. */
export const completions: Protocol = {
  method: 'POST',
  path: '/v1/completions',
  body: 'json',
  family: compatible,
  models: ['sim-text'],
  answer: call => {
    const request = readCompletion(call)
    const completion = complete(request, call)
    if (request.stream === undefined) return json(result(completion))
    return {
      kind: 'events',
      headers: EVENT_STREAM,
      events: chunks(completion, request),
      failure: error => [{ data: JSON.stringify(compatible.body(error, call.requestId)) }],
    }
  },
}

function result({ id, created, model, choices, usage }: Completion): object {
  const whole = choices.map(choice => part(choice, 0, choice.tokens.length, choice.finish))
  return { id, object: 'text_completion', created, model, choices: whole, usage }
}

function* chunks(completion: Completion, { stream }: CompletionRequest): Generator<StreamEvent> {
  const { id, created, model, choices, usage } = completion
  const head = { id, object: 'text_completion', created, model }
  const tail = stream?.includeUsage ? { usage: null } : {}
  for (const choice of choices) {
    const { tokens, finish } = choice
    for (const at of tokens.keys()) yield chunk(part(choice, at, at + 1, null))
    yield chunk(part(choice, tokens.length, tokens.length, finish))
  }
  if (stream?.includeUsage) yield { data: JSON.stringify({ ...head, choices: [], usage }) }
  yield { data: '[DONE]', terminal: true }

  function chunk(only: object): StreamEvent {
    return { data: JSON.stringify({ ...head, choices: [only], ...tail }) }
  }
}

function part({ index, tokens, logprobs }: Choice, from: number, to: number, finish: string | null): object {
  const text = tokens.slice(from, to).join('')
  return { text, index, logprobs: from === to ? null : logprobs(from, to), finish_reason: finish }
}
