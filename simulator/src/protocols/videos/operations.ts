import type { Fields } from '../../families/fields.js'
import { badArgument, native, nativeFields } from '../../families/native.js'
import { type Call, endpoint, json, type Protocol } from '../../protocol.js'
import type { Course, Task } from '../../tasks/task.js'
import { begin, find, originOf, polled, recallOf } from './begin.js'
import { artefact } from './bytes.js'
import { sides } from './deferred.js'
import { MAX_SECONDS } from './request.js'

const HEADERS = { 'content-type': 'application/json; charset=UTF-8' } as const
const RESOLUTIONS = ['480p', '720p', '1080p']
const RATIOS = ['16:9', '9:16']
const MAX_SAMPLES = 4
const MAX_PROMPT_CHARS = 32_000
const VIDEO = 'type.googleapis.com/google.ai.generativelanguage.v1beta.PredictLongRunningResponse'
/** A digit that names of tasks do not have, and the number of the sample. */
const FILE = /^([a-z2-7]+)(?:0([1-4]))?$/
/** Files that were uploaded, or that a batch has made, are downloaded from the same place. */
const UPLOADED = /^[0-9a-f]{32}$/

/** `POST /v1beta/models/{model}:predictLongRunning`: answers the name of an operation. */
const predict = endpoint(
  native,
  'POST /v1beta/models/{model}:predictLongRunning',
  { body: 'json', models: ['sim-video'] },
  call => {
    const model = call.parameter
    const body = nativeFields(call.body).only(['instances', 'parameters'])
    const parameters = body.fields('parameters') ?? nativeFields({})
    const seconds = wholeNumber(parameters, 'durationSeconds', 8, MAX_SECONDS)
    const samples = wholeNumber(parameters, 'sampleCount', 1, MAX_SAMPLES)
    const resolution = listed(parameters, 'resolution', RESOLUTIONS, '720p')
    const ratio = listed(parameters, 'aspectRatio', RATIOS, '16:9')
    const video = { model, prompt: promptOf(body), seconds, ...sides(resolution, ratio) }
    const { name } = begin(call, 'operation', video, { samples })
    return json({ name: `models/${model}/operations/${name}` }, 200, HEADERS)
  },
)

const operation = endpoint(
  native,
  'GET /v1beta/models/{model}/operations/{operation}',
  { recall: recallOf('operation', 'poll') },
  call => {
    const task = known(call, call.parameter)
    const name = `models/${task.model}/operations/${call.parameter}`
    return json({ name, ...operationMembers(task, polled(call, task), call) }, 200, HEADERS)
  },
)

/** An operation that is not over says nothing but its name; neither progress nor states are known here. */
function operationMembers(task: Task, { phase }: Course, call: Call): object {
  switch (phase) {
    case 'queued':
    case 'running':
      return {}
    case 'failed':
      return { done: true, error: { code: 13, message: 'Video generation failed due to an internal server issue.' } }
    case 'blocked':
      return done({ raiMediaFilteredCount: 1, raiMediaFilteredReasons: ['The prompt could not be submitted.'] })
    case 'empty':
      return done({})
    case 'done':
      return done({ generatedSamples: samplesOf(task, call) })
  }
}

function done(generateVideoResponse: object): object {
  return { done: true, response: { '@type': VIDEO, generateVideoResponse } }
}

function samplesOf({ facts }: Task, call: Call): readonly object[] {
  return Array.from({ length: Number(facts.samples ?? 1) }, (_, index) => {
    const file = index === 0 ? call.parameter : `${call.parameter}0${index + 1}`
    return { video: { uri: `${originOf(call)}/v1beta/files/${file}:download?alt=media` } }
  })
}

/** `GET /v1beta/files/{file}:download`: a film. */
const download = endpoint(
  native,
  'GET /v1beta/files/{file}:download',
  {
    serves: (_, query, file) => query.get('alt') === 'media' && !UPLOADED.test(file),
    recall: recallOf('operation', 'content', file => FILE.exec(file)?.[1] ?? ''),
  },
  call => {
    const [, name = '', sample = '1'] = FILE.exec(call.parameter) ?? []
    const task = known(call, name)
    const isThere = call.tasks.course(task, call.now, 'look').phase === 'done'
    if (!isThere || Number(sample) > Number(task.facts.samples)) throw native.usual(404)
    return artefact(sample === '1' ? task : { ...task, seed: `${task.seed} ${sample}` }, 'video', call)
  },
)

function known(call: Call, name: string): Task {
  const task = find(call, 'operation', name)
  if (task === undefined) throw native.usual(404)
  return task
}

function promptOf(body: Fields): string {
  const [instance, another] = body.list('instances') ?? []
  if (instance === undefined || another !== undefined) throw badArgument('Exactly one instance has to be given.')
  const prompt = instance.string('prompt') ?? ''
  const isAlone = instance.raw('image') === undefined && instance.raw('video') === undefined
  if (prompt.trim() === '' && isAlone) throw badArgument('The prompt is missing.')
  if (prompt.length > MAX_PROMPT_CHARS) throw badArgument(`The prompt is longer than ${MAX_PROMPT_CHARS} characters.`)
  return prompt
}

function wholeNumber(body: Fields, name: string, usual: number, max: number): number {
  const value = body.raw(name)
  // As the protocol's JSON mapping has it, a number may come as a text.
  if (typeof value === 'string' && /^\d{1,3}$/.test(value)) {
    return nativeFields({ [name]: Number(value) }).integer(name, { min: 1, max }) ?? usual
  }
  return body.integer(name, { min: 1, max }) ?? usual
}

function listed(body: Fields, name: string, values: readonly string[], usual: string): string {
  return body.oneOf(name, values) ?? usual
}

export const OPERATIONS: readonly Protocol[] = [predict, operation, download]
