import { SimulatorError } from '../../errors.js'
import { compatible } from '../../families/compatible.js'
import { Fields } from '../../families/fields.js'
import { readPrompt } from '../../families/options.js'
import { wrongValue } from '../../families/refusals.js'
import { readFaults } from '../../faults/read.js'
import { type Call, type Document, endpoint, json, type Protocol } from '../../protocol.js'
import { taskOf } from '../../tasks/task.js'
import { begin, find, originOf, polled, videoOf } from './begin.js'
import { resultPath } from './record.js'
import { modelIn, secondsOf, textOf } from './request.js'

const FIELDS = [
  ...['model', 'prompt', 'duration', 'aspect_ratio', 'resolution'],
  ...['image', 'video', 'reference_images', 'user'],
]
const RESOLUTIONS: Readonly<Record<string, number>> = { '480p': 480, '720p': 720 }
const RATIOS = ['16:9', '9:16', '1:1', '4:3', '3:4', '3:2', '2:3'] as const
const TICKS_PER_SECOND = 500_000_000

/** `POST /v1/videos/generations`: answers `{ request_id }` and nothing else. */
const submit = endpoint(compatible, 'POST /v1/videos/generations', { body: 'json', models: ['sim-video'] }, call => {
  const body = new Fields(call.body).only(FIELDS)
  const prompt = readPrompt(body)
  const resolution = body.oneOf('resolution', Object.keys(RESOLUTIONS)) ?? '480p'
  const ratio = body.oneOf('aspect_ratio', RATIOS) ?? '16:9'
  const seconds = secondsOf('duration', textOf('duration', body.raw('duration') ?? 6))
  if (seconds > 15) throw wrongValue('duration', "Invalid 'duration': expected a whole number from 1 to 15.")
  const { name } = begin(call, 'deferred', { model: modelIn(body), prompt, seconds, ...sides(resolution, ratio) })
  return json({ request_id: name })
})

/** Whether an id is one of this protocol's, which has a path in common with another one. */
export function isDeferred(id: string): boolean {
  return taskOf(id, 'deferred') !== undefined
}

/** `GET /v1/videos/{request_id}`: 202 until there is something to see. */
export function deferredById(call: Call): Document {
  const task = find(call, 'deferred', call.parameter)
  if (task === undefined) throw new SimulatorError(404, 'The requested video was not found.')
  const { phase, progress } = polled(call, task)
  const { model, seconds } = videoOf(task)
  if (phase === 'queued' || phase === 'running') {
    return json({ status: readFaults(task.asked).state ?? 'pending', progress }, 202)
  }
  if (phase === 'failed') {
    return json({ status: 'failed', error: { code: 'internal_error', message: 'Video generation failed.' } })
  }
  const url = phase === 'done' ? originOf(call) + resultPath(call.parameter, 'video') : ''
  return json({
    status: 'done',
    video: phase === 'empty' ? undefined : { url, duration: seconds, respect_moderation: phase === 'done' },
    model,
    usage: { cost_in_usd_ticks: seconds * TICKS_PER_SECOND },
    progress: 100,
  })
}

/** The shorter side has as many pixels as the resolution says; both are even. */
export function sides(resolution: string, ratio: string): { readonly width: number; readonly height: number } {
  const short = RESOLUTIONS[resolution] ?? Number.parseInt(resolution, 10)
  const [across = 1, down = 1] = ratio.split(':').map(Number)
  const long = 2 * Math.round((short * Math.max(across, down)) / Math.min(across, down) / 2)
  return across >= down ? { width: long, height: short } : { width: short, height: long }
}

export const DEFERRED: readonly Protocol[] = [submit]
