import { type Family, SimulatorError } from '../../errors.js'
import { compatible } from '../../families/compatible.js'
import { readFaults } from '../../faults/read.js'
import { json, type Protocol } from '../../protocol.js'
import type { Course } from '../../tasks/course.js'
import { timeOf } from '../../tasks/course.js'
import { begin, find, originOf, polled, recallOf } from './begin.js'
import { idOf, named } from './record.js'
import { readRelayed } from './relayed-request.js'
import { resultPath } from './results.js'

/** Errors of tasks: `{ code, message, data }`. */
const relay: Family = {
  body: ({ message, details: { code } }) => ({ code: code ?? 'invalid_request', message, data: null }),
  usual: compatible.usual,
  headers: compatible.headers,
}

const SHARED = { family: relay, models: [] } as const

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
  ...SHARED,
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
  ...SHARED,
  method: 'GET',
  path: '/v1/video/generations/{task_id}',
  body: 'none',
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
