import { drawFilm } from '../../film/film.js'
import type { JsonObject } from '../../json.js'
import { type Call, type Document, endpoint, json, type Protocol } from '../../protocol.js'
import { Seed } from '../../seed.js'
import { cut } from '../../tasks/task.js'
import { ranged } from '../videos/bytes.js'
import { actionOf } from './action.js'
import { CODES, imagining, recalled, refused, type Standing, standing } from './known.js'
import { drawPicture } from './picture.js'
import { recordOf } from './record.js'
import { SUBMITS } from './submits.js'

const MAX_LISTED_TASKS = 1000

/** `POST /mj/submit/modal`: says what a task is to do that waits for it. */
const modal = endpoint(imagining, 'POST /mj/submit/modal', { body: 'json' }, call => {
  const { taskId, prompt } = call.body
  const found = typeof taskId === 'string' ? standing(call, taskId, 'look') : undefined
  if (found === undefined) throw refused(CODES.notFound, 'The related task does not exist or has expired')
  if (found.course !== 'modal') throw refused(CODES.failed, 'The task does not wait to be confirmed')
  const words = typeof prompt === 'string' && prompt.trim() !== '' ? prompt : found.task.prompt
  call.tasks.resume(found.name, { prompt: words, started: call.now })
  return json({ code: CODES.submitted, description: 'Submit success', result: found.name, properties: {} })
})

/** `GET /mj/task/{id}/fetch`: an empty body where the task is not known. */
const fetchTask = endpoint(
  imagining,
  'GET /mj/task/{id}/fetch',
  { recall: ({ parameter }) => recalled([parameter], 'poll') },
  call => {
    const found = standing(call, call.parameter, 'poll')
    return found === undefined ? NOTHING : json(recordOf(found, call))
  },
)

const NOTHING: Document = { kind: 'document', status: 200, headers: {}, body: Buffer.alloc(0) }

/** `POST /mj/task/list-by-condition`: the records of those that are known. */
const list = endpoint(
  imagining,
  'POST /mj/task/list-by-condition',
  { body: 'json', recall: ({ body }) => recalled(idsIn(body), 'poll') },
  call => {
    const found = idsIn(call.body).map(id => standing(call, id, 'poll'))
    return json(found.filter((each): each is Standing => each !== undefined).map(each => recordOf(each, call)))
  },
)

function idsIn({ ids }: JsonObject): readonly string[] {
  const list = Array.isArray(ids) ? ids : []
  return list.filter(id => typeof id === 'string').slice(0, MAX_LISTED_TASKS)
}

const imageSeed = endpoint(imagining, 'GET /mj/task/{id}/image-seed', call => {
  const { task } = finished(call, CODES.notFound)
  const result = String(new Seed(task.seed).below(2 ** 32))
  return json({ code: CODES.submitted, description: 'Submit success', result })
})

/** `GET /mj/image/{id}`: what is there of the picture; all of it, once the task is done. */
const image = endpoint(
  imagining,
  'GET /mj/image/{id}',
  { recall: ({ parameter }) => recalled([parameter], 'content') },
  call => {
    const found = standing(call, call.parameter, 'look')
    const course = found?.course
    const hasPicture =
      course !== undefined && course !== 'modal' && (course.phase === 'running' || course.phase === 'done')
    if (found === undefined || !hasPicture || actionOf(found.task) === 'VIDEO') throw imagining.usual(404)
    return ranged(drawPicture(found.task, course.progress), 'image/png', call)
  },
)

const FILM = { width: 832, height: 480, seconds: 5 } as const

const film = endpoint(
  imagining,
  'GET /mj/video/{id}',
  { recall: ({ parameter }) => recalled([parameter], 'content') },
  call => {
    const { task } = finished(call)
    if (actionOf(task) !== 'VIDEO') throw imagining.usual(404)
    const drawn = drawFilm({ ...FILM, prompt: cut(task.prompt), seed: new Seed(task.seed) })
    return ranged(drawn, 'video/mp4', call)
  },
)

/** The task that the path names, if it is done. Throws 404, or a code, where it is not. */
function finished(call: Call, code?: number): Standing {
  const found = standing(call, call.parameter, 'look')
  if (found !== undefined && found.course !== 'modal' && found.course.phase === 'done') return found
  throw code === undefined ? imagining.usual(404) : refused(code, 'The task does not exist or is not done')
}

/** The image-task proxy's protocol. */
export const IMAGINE: readonly Protocol[] = [...SUBMITS, modal, fetchTask, list, imageSeed, image, film]
