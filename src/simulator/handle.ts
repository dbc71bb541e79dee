import type { IncomingMessage, ServerResponse } from 'node:http'
import { readBody } from './body.js'
import { perform } from './delivery/perform.js'
import { script } from './delivery/script.js'
import type { Step } from './delivery/steps.js'
import { refusal } from './delivery/substitute.js'
import type { Entry } from './entry.js'
import { SimulatorError } from './errors.js'
import type { Gate } from './faults/gate.js'
import { readFaultHeader } from './faults/read.js'
import type { Answer, Headers } from './protocol.js'
import { type Question, refusing, understand } from './question.js'
import type { Received } from './received.js'
import { type Match, route } from './routes.js'
import { Seed } from './seed.js'

/** What a simulator remembers between requests. */
export interface State {
  readonly received: Received
  readonly gate: Gate
}

/** Answers a request, whatever it holds. Never rejects: what breaks inside is noted in the entry. */
export async function handle(request: IncomingMessage, response: ServerResponse, state: State): Promise<Entry> {
  const entry = state.received.add(request, response)
  try {
    const match = route(entry.method, entry.path)
    const asked = await ask(request, entry, match, state)
    await perform(response, steps(asked, entry, match, state), entry)
  } catch (error) {
    entry.fail(error)
    response.destroy()
  }
  return entry
}

async function ask(request: IncomingMessage, entry: Entry, match: Match, { received }: State): Promise<Question> {
  try {
    const declared = readFaultHeader(entry.headers['x-simulate'])
    const unread = declared.early || declared['no-read']
    const body = unread ? Buffer.alloc(0) : await readBody(request, chunk => received.receive(entry, chunk))
    const question = understand(match, body)
    return { ...question, faults: { ...declared, ...question.faults } }
  } catch (error) {
    return refusing(error, new Seed(entry.method, entry.path))
  }
}

function steps({ faults, answer, seed }: Question, entry: Entry, { protocol }: Match, { gate }: State): Iterable<Step> {
  const { errors } = protocol
  const struck = gate.pass(faults)
  return script(guarded, {
    faults: struck,
    errors,
    headers: commonHeaders(seed),
    credential: entry.headers.authorization ?? '',
    jitter: seed.fork('jitter', entry.number).fraction(),
  })

  function guarded(): Answer {
    try {
      return answer(struck)
    } catch (error) {
      if (error instanceof SimulatorError) return refusal(error, errors)
      entry.fail(error)
      return refusal(errors.usual(500), errors)
    }
  }
}

/** The headers of every answer: an id, and the rate limits of somebody who has hardly used them. */
function commonHeaders(seed: Seed): Headers {
  return {
    'x-request-id': `req_${seed.fork('request').hex(32)}`,
    'x-ratelimit-limit-requests': '10000',
    'x-ratelimit-limit-tokens': '1000000',
    'x-ratelimit-remaining-requests': '9999',
    'x-ratelimit-remaining-tokens': '999999',
    'x-ratelimit-reset-requests': '6ms',
    'x-ratelimit-reset-tokens': '0s',
  }
}
