import type { IncomingMessage, ServerResponse } from 'node:http'
import { readBody } from './body.js'
import { perform } from './delivery/perform.js'
import { script } from './delivery/script.js'
import type { Step } from './delivery/steps.js'
import { refusal } from './delivery/substitute.js'
import type { Entry, Received } from './entry.js'
import { SimulatorError } from './errors.js'
import type { Gate } from './faults/gate.js'
import { checkLacks } from './faults/lacks.js'
import { readFaultHeader } from './faults/read.js'
import type { Memory } from './memory.js'
import type { Answer } from './protocol.js'
import { type Question, refusing, understand } from './question.js'
import { type Match, route } from './routes.js'
import { Seed } from './seed.js'
import type { Tasks } from './tasks/tasks.js'

/** What a simulator remembers between requests. */
export interface State {
  readonly received: Received
  readonly gate: Gate
  readonly memory: Memory
  readonly tasks: Tasks
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

/** Answers any request. Never rejects: what breaks inside is noted in the entry. */
export async function handle(request: IncomingMessage, response: ServerResponse, state: State): Promise<Entry> {
  const entry = state.received.add(request, response)
  try {
    const match = route(entry.method, entry.path, entry.headers)
    const asked = await ask(request, entry, match, state)
    await perform(response, steps(asked, entry, match, state), entry)
  } catch (error) {
    entry.fail(error)
    response.destroy()
  }
  return entry
}

async function ask(
  request: IncomingMessage,
  entry: Entry,
  match: Match,
  { received, memory, tasks, now }: State,
): Promise<Question> {
  try {
    const declared = readFaultHeader(entry.headers['x-simulate'])
    const unread = declared.early || declared['no-read']
    const body = unread ? Buffer.alloc(0) : await readBody(request, chunk => received.receive(entry, chunk))
    const { headers } = entry
    const origin = `http://${headers.host ?? 'localhost'}`
    const question = understand(match, body, { memory, tasks, now: now(), headers, origin })
    const faults = { ...declared, ...question.faults }
    if (faults.lacks !== undefined) checkLacks(faults.lacks, entry.path, body)
    return { ...question, faults }
  } catch (error) {
    return refusing(error, new Seed(entry.method, entry.path))
  }
}

function steps(question: Question, entry: Entry, { protocol: { family } }: Match, { gate }: State): Iterable<Step> {
  const { faults, scope, answer, seed, requestId } = question
  const struck = gate.pass(faults, scope)
  return script(guarded, {
    faults: struck,
    family,
    requestId,
    credential: credentialOf(entry.headers),
    jitter: seed.fork('jitter', entry.number).fraction(),
  })

  function guarded(): Answer {
    try {
      return answer(struck)
    } catch (error) {
      if (error instanceof SimulatorError) return refusal(error, family, requestId)
      entry.fail(error)
      return refusal(family.usual(500), family, requestId)
    }
  }
}

/** The credential, unchanged, from any of its headers. */
export function credentialOf(headers: Readonly<Record<string, string>>): string {
  const named = Object.keys(headers).find(name => name.endsWith('api-key'))
  return headers.authorization ?? (named === undefined ? '' : (headers[named] ?? ''))
}
