import { isSimulated, type Switched } from '../../features/console/faults.js'
import type { AdminHost } from '../host.js'
import { AdminError, type AdminRoute, COUNT, MOMENT, objectOf, type Schema, TEXT } from '../route.js'

const PATH = '/admin/faults'
const MAX_FAULTS_CHARS = 500
const MAX_MINUTES = 60
const DEFAULT_MINUTES = 15
const MINUTE_MS = 60_000

const FAULT = objectOf({ name: TEXT, value: TEXT, description: TEXT, strikes: { enum: ['always', 'chosen'] } }, [
  'name',
])
const UPSTREAM = objectOf({ name: TEXT, kind: TEXT, faults: TEXT, until: MOMENT }, ['name'])
const STATE: Schema = objectOf({ upstreams: { type: 'array', items: UPSTREAM } }, ['upstreams'])

export const showFaults: AdminRoute = {
  method: 'GET',
  path: PATH,
  summary: 'Upstreams that the simulator answers for, the faults that are switched on there, and all that it knows.',
  status: 200,
  answer: objectOf({ upstreams: { type: 'array', items: UPSTREAM }, known: { type: 'array', items: FAULT } }),
  handle: async (_request, host) => ({ ...stateOf(host), known: await host.simulator.faults() }),
}

export const switchFaults: AdminRoute = {
  method: 'PUT',
  path: PATH,
  summary: `Switches faults of the simulator at an upstream, written as in the header x-simulate: status=503 failure-rate=0.5. They end after so many minutes (${DEFAULT_MINUTES}, at most ${MAX_MINUTES}), with the process, and with an empty text. No file is changed.`,
  body: objectOf(
    {
      upstream: TEXT,
      faults: { type: 'string', maxLength: MAX_FAULTS_CHARS },
      minutes: { ...COUNT, minimum: 1, maximum: MAX_MINUTES },
    },
    ['upstream', 'faults'],
  ),
  status: 200,
  answer: STATE,
  async handle({ body: { upstream, faults, minutes = DEFAULT_MINUTES } }, host) {
    const found = typeof upstream === 'string' ? host.plan.upstreams.get(upstream) : undefined
    if (found === undefined) throw new AdminError(404, 'not_found', 'no upstream has this name')
    if (!isSimulated(found))
      throw new AdminError(409, 'conflict', 'only upstreams that the simulator inside answers for have faults')
    if (typeof faults !== 'string' || faults.length > MAX_FAULTS_CHARS)
      throw new AdminError(400, 'invalid_request', `faults: expected a text of at most ${MAX_FAULTS_CHARS} characters`)
    if (typeof minutes !== 'number' || !Number.isInteger(minutes) || minutes < 1 || minutes > MAX_MINUTES)
      throw new AdminError(400, 'invalid_request', `minutes: expected a number from 1 to ${MAX_MINUTES}`)
    const problem = await host.simulator.problem(faults)
    if (problem !== undefined) throw new AdminError(400, 'invalid_request', problem)
    const text = faults.trim()
    switchesOf(host).set(found.name, text === '' ? null : { faults: text, until: Date.now() + minutes * MINUTE_MS })
    return stateOf(host)
  },
}

export const resetFaults: AdminRoute = {
  method: 'DELETE',
  path: PATH,
  summary: 'Switches all faults of the simulator off.',
  status: 200,
  answer: STATE,
  async handle(_request, host) {
    const switches = switchesOf(host)
    for (const name of [...switches.on.keys()]) switches.set(name, null)
    return stateOf(host)
  },
}

function switchesOf(host: AdminHost): ReturnType<AdminHost['watched']>['faults'] {
  return host.watched().faults
}

function stateOf(host: AdminHost): {
  readonly upstreams: readonly ({ readonly name: string; readonly kind: string | undefined } & Partial<Switched>)[]
} {
  const { on } = switchesOf(host)
  return {
    upstreams: [...host.plan.upstreams.values()]
      .filter(isSimulated)
      .map(({ name, kind }) => ({ name, kind, ...on.get(name) })),
  }
}
