import { type Family, SimulatorError } from '../../errors.js'
import { compatible } from '../../families/compatible.js'
import { Fields } from '../../families/fields.js'
import { readFaults } from '../../faults/read.js'
import { type Call, json, type Protocol } from '../../protocol.js'
import { type Course, timeOf } from '../../tasks/task.js'
import { begin, find, originOf, polled, recallOf, type Video } from './begin.js'
import { idOf, named, resultPath } from './record.js'
import { modelIn, readPrompt, secondsOf, sizeOf, textOf } from './request.js'

/** Errors of tasks: `{ code, message, data }`. */
const relay: Family = {
  body: ({ message, details: { code } }) => ({ code: code ?? 'invalid_request', message, data: null }),
  usual: compatible.usual,
  headers: compatible.headers,
}

const STATUS = {
  queued: 'QUEUED',
  running: 'IN_PROGRESS',
  done: 'SUCCESS',
  empty: 'SUCCESS',
  failed: 'FAILURE',
  blocked: 'FAILURE',
} as const satisfies Record<Course['phase'], string>

/** `POST /v1/video/generations`: the older way to ask a relay for a video. */
const submit: Protocol = {
  family: relay,
  method: 'POST',
  path: '/v1/video/generations',
  body: 'form-or-json',
  answer: call => {
    const { name } = begin(call, 'relayed', readRelayed(call))
    return json({ task_id: idOf('relayed', name), status: 'queued' })
  },
}

/** `GET /v1/video/generations/{task_id}`. */
const fetchTask: Protocol = {
  family: relay,
  method: 'GET',
  path: '/v1/video/generations/{task_id}',
  recall: ({ parameter }) => recallOf('relayed', 'poll', id => named(id)?.name ?? '')({ parameter }),
  answer: call => {
    const name = named(call.parameter)?.name ?? ''
    const task = find(call, 'relayed', name)
    if (task === undefined) throw new SimulatorError(400, 'task_not_exist', { code: 'task_not_exist' })
    const asked = readFaults(task.asked)
    const { phase, progress } = polled(call, task)
    const isOver = phase !== 'queued' && phase !== 'running'
    const url = phase === 'done' ? originOf(call) + resultPath(name, 'video') : undefined
    const submitted = Math.floor(task.started / 1000)
    return json({
      code: 'success',
      message: '',
      data: {
        task_id: call.parameter,
        action: 'textGenerate',
        status: isOver ? STATUS[phase] : (asked.state ?? STATUS[phase]),
        fail_reason: phase === 'failed' || phase === 'blocked' ? `task ${phase}` : '',
        submit_time: submitted,
        start_time: phase === 'queued' ? 0 : submitted,
        finish_time: isOver ? Math.floor((task.started + timeOf(asked)) / 1000) : 0,
        progress: `${progress}%`,
        result_url: url,
        data: { status: phase, video: url === undefined ? undefined : { url } },
      },
    })
  },
}

export const RELAYED: readonly Protocol[] = [submit, fetchTask]

/** Relays take what any of the services behind them may know, and leave the rest to those. */
export function readRelayed({ body: object }: Pick<Call, 'body'>): Video {
  const body = new Fields(object)
  const prompt = readPrompt(body)
  return { model: modelIn(body), prompt, ...sizeIn(body), seconds: secondsIn(body) }
}

function sizeIn(body: Fields) {
  const [width, height] = [body.raw('width'), body.raw('height')]
  if (width !== undefined && height !== undefined) return sizeOf('width', `${width}x${height}`)
  return sizeOf('size', body.string('size') ?? '720x1280')
}

/** `seconds`, a text; or else `duration`, a number or a text. */
function secondsIn(body: Fields): number {
  const seconds = body.string('seconds')
  if (seconds !== undefined) return secondsOf('seconds', seconds)
  return secondsOf('duration', textOf('duration', body.raw('duration') ?? 4))
}
