import { SimulatorError } from '../../errors.js'
import { compatible } from '../../families/compatible.js'
import { Fields } from '../../families/fields.js'
import { notListed, wrongValue } from '../../families/refusals.js'
import { readFaults } from '../../faults/read.js'
import { type Call, json, type Protocol } from '../../protocol.js'
import { type Begun, begin, find, polled, recallOf, videoOf } from './begin.js'
import { artefact } from './bytes.js'
import { DEFERRED, deferredById, isDeferred } from './deferred.js'
import { OPERATIONS } from './operations.js'
import { PIPELINE } from './pipeline.js'
import { expiryOf, named, record, results } from './record.js'
import { RELAYED, readRelayed } from './relayed.js'
import { readPrompt, readVideo } from './request.js'

const ONE = '/v1/videos/{video_id}'
const VARIANTS = ['video', 'thumbnail', 'spritesheet'] as const
const MAX_PAGE_ITEMS = 100
const DEFAULT_PAGE_ITEMS = 20

/** `POST /v1/videos`: a task that ends with a film of a card with the prompt on it. */
const create: Protocol = {
  family: compatible,
  method: 'POST',
  path: '/v1/videos',
  body: 'form-or-json',
  models: ['sim-video'],
  answer: call => {
    const isRelayed = call.faults.relayed === true
    const video = isRelayed ? readRelayed(call) : readVideo(call)
    return started(begin(call, isRelayed ? 'relayed' : 'video', video), call)
  },
}

/** `POST /v1/videos/{video_id}/remix`: the same anew, by another prompt. */
const remix: Protocol = {
  family: compatible,
  method: 'POST',
  path: `${ONE}/remix`,
  body: 'form-or-json',
  recall: ({ parameter }) => recalled(parameter, 'poll'),
  answer: call => {
    const body = new Fields(call.body).only(['prompt'])
    const { task } = whole(call)
    if (call.tasks.course(task, call.now, 'look').phase !== 'done') {
      throw new SimulatorError(400, 'Only a video that is completed can be remixed.')
    }
    const video = { ...videoOf(task), prompt: readPrompt(body) }
    const begun = begin({ ...call, asked: task.asked }, task.kind, video)
    const kept = { ...begun.task, facts: { ...begun.task.facts, from: call.parameter } }
    // Its name does without the other's, which would grow with each remix.
    call.tasks.keep(begun.name, kept)
    return started({ name: begun.name, task: kept }, call)
  },
}

/** `GET /v1/videos/{video_id}`, of both protocols that have this path. */
const retrieve: Protocol = {
  family: compatible,
  method: 'GET',
  path: ONE,
  recall: ({ parameter }) =>
    isDeferred(parameter) ? recallOf('deferred', 'poll')({ parameter }) : recalled(parameter, 'poll'),
  answer: call => {
    if (isDeferred(call.parameter)) return deferredById(call)
    const begun = whole(call)
    return json(record(begun, polled(call, begun.task), call))
  },
}

/** `GET /v1/videos`: what this process has begun, latest first unless asked otherwise. */
const list: Protocol = {
  family: compatible,
  method: 'GET',
  path: '/v1/videos',
  answer: call => {
    const { query, tasks, now } = call
    const known = [...tasks.list('video'), ...tasks.list('relayed')].filter(([, task]) => !readFaults(task.asked).lost)
    const oldest = known.toSorted(([, one], [, other]) => one.serial - other.serial)
    const sorted = orderOf(query) === 'asc' ? oldest : oldest.reverse()
    const after = query.get('after')
    const from = after === null ? 0 : sorted.findIndex(([name]) => name === named(after)?.name) + 1
    const limit = limitOf(query)
    const data = sorted
      .slice(from, from + limit)
      .map(([name, task]) => record({ name, task }, tasks.course(task, now, 'look'), call))
    const [first_id = null, last_id = null] = [data[0]?.id, data.at(-1)?.id]
    return json({ object: 'list', data, first_id, last_id, has_more: from + limit < sorted.length })
  },
}

/** `DELETE /v1/videos/{video_id}`: of one that is over. */
const remove: Protocol = {
  family: compatible,
  method: 'DELETE',
  path: ONE,
  answer: call => {
    const { name, task } = whole(call)
    const { phase } = call.tasks.course(task, call.now, 'look')
    if (phase === 'queued' || phase === 'running') {
      throw new SimulatorError(400, 'Only a video that is completed or has failed can be deleted.')
    }
    call.tasks.forget(name)
    return json({ id: call.parameter, object: 'video.deleted', deleted: true })
  },
}

/** `GET /v1/videos/{video_id}/content?variant=`: the film, or pictures of it. */
const content: Protocol = {
  family: compatible,
  method: 'GET',
  path: `${ONE}/content`,
  recall: ({ parameter }) => recalled(parameter, 'content'),
  answer: call => {
    const { task } = whole(call)
    const { phase } = call.tasks.course(task, call.now, 'look')
    const variant = call.query.get('variant') ?? 'video'
    const known = VARIANTS.find(each => each === variant)
    if (known === undefined) throw notListed('variant', variant, VARIANTS)
    if (phase === 'done' && call.now / 1000 < expiryOf(task)) return artefact(task, known, call)
    if (phase === 'done') throw new SimulatorError(404, 'The video has expired and is no longer kept.')
    if (phase === 'empty') throw new SimulatorError(404, 'The video has no content.')
    if (task.kind === 'relayed') {
      throw new SimulatorError(400, `Task is not completed yet, current status: ${phase}`)
    }
    const message = 'Video is not ready yet, use GET /v1/videos/{video_id} to check status.'
    throw new SimulatorError(404, message)
  },
}

function started(begun: Begun, call: Call) {
  return json(record(begun, call.tasks.course(begun.task, call.now, 'look'), call))
}

function recalled(id: string, stage: 'poll' | 'content') {
  const known = named(id)
  return known && recallOf(known.kind, stage)({ parameter: known.name })
}

/** The task that the path names. Throws where it is not known. */
function whole(call: Call): Begun {
  const known = named(call.parameter)
  const task = known && find(call, known.kind, known.name)
  if (known !== undefined && task !== undefined) return { name: known.name, task }
  throw new SimulatorError(404, `Video with id '${call.parameter.slice(0, 100)}' not found.`)
}

function orderOf(query: URLSearchParams): string {
  const order = query.get('order') ?? 'desc'
  if (order !== 'asc' && order !== 'desc') throw notListed('order', order, ['asc', 'desc'])
  return order
}

function limitOf(query: URLSearchParams): number {
  const limit = Number(query.get('limit') ?? DEFAULT_PAGE_ITEMS)
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_PAGE_ITEMS) return limit
  throw wrongValue('limit', `Invalid 'limit': expected an integer from 1 to ${MAX_PAGE_ITEMS}.`)
}

/** Everything that makes films, in the order in which paths are to be tried. */
export const VIDEOS: readonly Protocol[] = [
  create,
  list,
  ...DEFERRED,
  remix,
  content,
  retrieve,
  remove,
  ...RELAYED,
  ...PIPELINE,
  ...OPERATIONS,
  results,
]
