import { type Family, SimulatorError } from '../../errors.js'
import { compatible } from '../../families/compatible.js'
import { Fields } from '../../families/fields.js'
import { readPrompt } from '../../families/options.js'
import { readFaults } from '../../faults/read.js'
import { type Call, endpoint, json, type Protocol } from '../../protocol.js'
import { type Course, statusOf, type Task } from '../../tasks/task.js'
import { begin, find, originOf, polled, recallOf } from './begin.js'
import { resultPath } from './record.js'
import { modelIn, secondsOf, sizeOf, textOf } from './request.js'

/** Errors: `{ error }`, a text. */
const plainErrors: Family = {
  body: ({ message }) => ({ error: message }),
  usual: compatible.usual,
  headers: requestId => ({ 'x-request-id': requestId }),
}

const TASK = '/v1/tasks/{id}'
const FROM_TEXT = ['model', 'promptText', 'ratio', 'duration', 'seed', 'audio', 'contentModeration']
const FROM_IMAGE = [...FROM_TEXT, 'promptImage']

const STATUS = { queued: 'PENDING', running: 'RUNNING', done: 'SUCCEEDED', failed: 'FAILED' }

/** `POST /v1/text_to_video` and `/v1/image_to_video`: answer `{ id }`. */
const [fromText, fromImage] = [submit('/v1/text_to_video', FROM_TEXT), submit('/v1/image_to_video', FROM_IMAGE)]

function submit(path: string, fields: readonly string[]): Protocol {
  return endpoint(plainErrors, `POST ${path}`, { body: 'json' }, call => {
    const body = new Fields(call.body).only(fields)
    const prompt = readPrompt(body, 'promptText')
    if (fields === FROM_IMAGE) body.need('promptImage', body.raw)
    const size = sizeOf('ratio', body.string('ratio') ?? '1280:720')
    const seconds = secondsOf('duration', textOf('duration', body.raw('duration') ?? 5))
    return json({ id: begin(call, 'pipeline', { model: modelIn(body), prompt, seconds, ...size }).name })
  })
}

/** `GET /v1/tasks/{id}`: with `output`, a list of addresses, when it has succeeded. */
const retrieve = endpoint(plainErrors, `GET ${TASK}`, { recall: recallOf('pipeline', 'poll') }, call => {
  const task = known(call)
  const course = polled(call, task)
  const { phase, progress } = course
  return json({
    id: call.parameter,
    createdAt: new Date(task.started).toISOString(),
    status: statusOf(STATUS, course, readFaults(task.asked)),
    progress: phase === 'running' ? progress / 100 : undefined,
    output: phase === 'done' ? [originOf(call) + resultPath(call.parameter, 'video')] : undefined,
    ...FAILURES[phase],
  })
})

const FAILURES: Readonly<Partial<Record<Course['phase'], object>>> = {
  empty: { output: [] },
  failed: { failure: 'An internal error occurred.', failureCode: 'INTERNAL' },
  blocked: { failure: 'The prompt was rejected.', failureCode: 'SAFETY.INPUT.TEXT' },
}

/** `DELETE /v1/tasks/{id}`: cancels or deletes it. */
const remove = endpoint(plainErrors, `DELETE ${TASK}`, call => {
  known(call)
  call.tasks.forget(call.parameter)
  return { kind: 'document', status: 204, headers: {}, body: Buffer.alloc(0) }
})

function known(call: Call): Task {
  const task = find(call, 'pipeline', call.parameter)
  if (task === undefined) throw new SimulatorError(404, 'Not Found')
  return task
}

export const PIPELINE: readonly Protocol[] = [fromText, fromImage, retrieve, remove]
