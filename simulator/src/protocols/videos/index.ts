import { SimulatorError } from '../../errors.js'
import { compatible } from '../../families/compatible.js'
import { Fields } from '../../families/fields.js'
import { readPrompt } from '../../families/options.js'
import { pageOf } from '../../families/pages.js'
import { notListed } from '../../families/refusals.js'
import { readFaults } from '../../faults/read.js'
import { type Call, endpoint, json, type Protocol } from '../../protocol.js'
import { isOver } from '../../tasks/task.js'
import { type Begun, begin, find, polled, recallOf, videoOf } from './begin.js'
import { artefact } from './bytes.js'
import { DEFERRED, deferredById, isDeferred } from './deferred.js'
import { OPERATIONS } from './operations.js'
import { PIPELINE } from './pipeline.js'
import { expiryOf, named, record, results } from './record.js'
import { readRelayed, readVideo } from './request.js'

const ONE = '/v1/videos/{video_id}'
const VARIANTS = ['video', 'thumbnail', 'spritesheet'] as const

/** `POST /v1/videos`: a task that ends with a film of a card with the prompt on it. */
const create = endpoint(compatible, 'POST /v1/videos', { body: 'form-or-json', models: ['sim-video'] }, call => {
  const isRelayed = call.faults.relayed === true
  const video = isRelayed ? readRelayed(call) : readVideo(call)
  return started(begin(call, isRelayed ? 'relayed' : 'video', video), call)
})

/** `POST /v1/videos/{video_id}/remix`: the same anew, by another prompt. */
const remix = endpoint(
  compatible,
  `POST ${ONE}/remix`,
  { body: 'form-or-json', recall: ({ parameter }) => recalled(parameter, 'poll') },
  call => {
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
)

/** `GET /v1/videos/{video_id}`, of both protocols that have this path. */
const retrieve = endpoint(
  compatible,
  `GET ${ONE}`,
  {
    recall: ({ parameter }) =>
      isDeferred(parameter) ? recallOf('deferred', 'poll')({ parameter }) : recalled(parameter, 'poll'),
  },
  call => {
    if (isDeferred(call.parameter)) return deferredById(call)
    const begun = whole(call)
    return json(record(begun, polled(call, begun.task), call))
  },
)

/** What this process has begun, latest first unless asked otherwise. */
const list = endpoint(compatible, 'GET /v1/videos', call => {
  const { query, tasks, now } = call
  const known = [...tasks.list('video'), ...tasks.list('relayed')].filter(([, task]) => !readFaults(task.asked).lost)
  const oldest = known.toSorted(([, one], [, other]) => one.serial - other.serial)
  return pageOf(
    oldest.map(([name, task]) => record({ name, task }, tasks.course(task, now, 'look'), call)),
    query,
  )
})

/** `DELETE /v1/videos/{video_id}`: of one that is over. */
const remove = endpoint(compatible, `DELETE ${ONE}`, call => {
  const { name, task } = whole(call)
  if (!isOver(call.tasks.course(task, call.now, 'look'))) {
    throw new SimulatorError(400, 'Only a video that is completed or has failed can be deleted.')
  }
  call.tasks.forget(name)
  return json({ id: call.parameter, object: 'video.deleted', deleted: true })
})

/** `GET /v1/videos/{video_id}/content?variant=`: the film, or pictures of it. */
const content = endpoint(
  compatible,
  `GET ${ONE}/content`,
  { recall: ({ parameter }) => recalled(parameter, 'content') },
  call => {
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
)

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

/** Everything that makes films, in the order in which paths are tried. */
export const VIDEOS: readonly Protocol[] = [
  create,
  list,
  ...DEFERRED,
  remix,
  content,
  retrieve,
  remove,
  ...PIPELINE,
  ...OPERATIONS,
  results,
]
