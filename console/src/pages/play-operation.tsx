import { useSignal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { messageOf } from '../api.js'
import { milliseconds, text } from '../format.js'
import { parameter } from '../router.js'
import type { PlanAnswer } from '../types.js'
import { ChooseKey, ChooseModel } from '../ui/choose.js'
import { RecordSound } from '../ui/record-sound.js'
import { Mask } from './mask.js'
import { operationCode } from './operation-code.js'
import { Shown } from './play-answer.js'
import { Code } from './play-try.js'
import { attempt, base64Of } from './run.js'
import type { Whole } from './whole-answer.js'

export interface OperationSpec {
  readonly name: string
  readonly path: string
  /** What a model that can do it usually has in its name. */
  readonly model: RegExp
  readonly label: string
  readonly example: string
  /** Whether it takes a file, and of which type. */
  readonly file?: string
  json(model: string, input: string): object
}

export const OPERATIONS: readonly OperationSpec[] = [
  {
    name: 'embeddings',
    path: '/v1/embeddings',
    model: /embed/,
    label: 'Texts, one a line',
    example:
      'a cat on a mat\na kitten on a rug\na dog in the garden\ninterest rates rise\nthe bank raises interest rates',
    json: (model, input) => ({ model, input: input.split('\n').filter(Boolean) }),
  },
  {
    name: 'rerank',
    path: '/v1/rerank',
    model: /rerank/,
    label: 'A question, then documents, one a line',
    example: 'Where do cats sleep?\nCats sleep on sofas.\nStocks fell today.\nKittens like warm places.',
    json: (model, input) => {
      const [query = '', ...documents] = input.split('\n').filter(Boolean)
      return { model, query, documents }
    },
  },
  {
    name: 'moderation',
    path: '/v1/moderations',
    model: /moderat/,
    label: 'Text',
    example: 'What a lovely day.',
    json: (model, input) => ({ model, input }),
  },
  {
    name: 'image',
    path: '/v1/images/generations',
    model: /image/,
    label: 'What to draw',
    example: 'A lighthouse at dusk',
    json: (model, prompt) => ({ model, prompt, size: '256x256', n: 1 }),
  },
  {
    name: 'edit',
    path: '/v1/images/edits',
    model: /image/,
    label: 'What to change',
    example: 'Make the sky green',
    file: 'image/png,image/jpeg,image/webp',
    json: (model, prompt) => ({ model, prompt }),
  },
  {
    name: 'speech',
    path: '/v1/audio/speech',
    model: /speech|tts/,
    label: 'What to say',
    example: 'Hello from the gateway.',
    json: (model, input) => ({ model, input, voice: 'alloy', response_format: 'wav' }),
  },
  {
    name: 'transcription',
    path: '/v1/audio/transcriptions',
    model: /transcri|whisper/,
    label: 'Hints for the transcription',
    example: '',
    file: 'audio/*',
    json: (model, prompt) => ({ model, ...(prompt === '' ? {} : { prompt }) }),
  },
  {
    name: 'video',
    path: '/v1/videos',
    model: /video/,
    label: 'What to film',
    example: 'Waves on a beach',
    json: (model, prompt) => ({ model, prompt }),
  },
  {
    name: 'drawing',
    path: '/mj/submit/imagine',
    model: /imagine|midjourney|niji/,
    label: 'What to draw, with the flags of image tasks',
    example: 'A lighthouse at dusk --ar 3:2',
    json: (model, prompt) => ({ botType: model, prompt }),
  },
]

async function wholeOf(response: Response, id: string | undefined): Promise<Whole> {
  const type = response.headers.get('content-type') ?? ''
  const isJson = type.includes('json')
  const data: unknown = isJson ? await response.json() : undefined
  const url = isJson ? undefined : URL.createObjectURL(await response.blob())
  return { status: response.status, type, id, data, url }
}

/** The field of a form that is the file. */
function fileField(accept: string): string {
  return accept.startsWith('audio') ? 'file' : 'image'
}

export function Operation({ plan, operation }: { readonly plan: PlanAnswer; readonly operation: OperationSpec }) {
  const { label, example, file, path, json } = operation
  const key = useSignal(plan.keys.find(({ off }) => off === undefined)?.name ?? '')
  const model = useSignal(parameter('model') ?? plan.models.find(one => operation.model.test(one.name))?.name ?? '')
  const input = useSignal(example)
  const upload = useSignal<File | undefined>(undefined)
  const mask = useSignal<Blob | undefined>(undefined)
  const whole = useSignal<Whole | undefined>(undefined)
  const took = useSignal<number | undefined>(undefined)
  const error = useSignal<string | undefined>(undefined)
  const isBusy = useSignal(false)
  const heard = useMemo(
    () => (upload.value?.type.startsWith('audio') === true ? URL.createObjectURL(upload.value) : undefined),
    [upload.value],
  )
  useEffect(() => () => void (heard !== undefined && URL.revokeObjectURL(heard)), [heard])
  useEffect(() => () => void (whole.value?.url && URL.revokeObjectURL(whole.value.url)), [])
  const ask = async (
    method: 'GET' | 'POST',
    target: string,
    body: { json?: object; form?: readonly object[] },
  ): Promise<Whole> => {
    const { answer, response } = await attempt({ key: key.value, path: target, method, ...body })
    return await wholeOf(response, answer.id)
  }
  const run = async (): Promise<void> => {
    const began = performance.now()
    isBusy.value = true
    error.value = undefined
    try {
      const fields = json(model.value, input.value)
      const { value: given } = upload
      if (file !== undefined && given === undefined)
        throw new Error(file.startsWith('audio') ? 'Choose a file or record one first.' : 'Choose a file first.')
      const body =
        given === undefined || file === undefined
          ? { json: fields }
          : { form: [...(await formOf(fields, given, file)), ...(await maskPart(mask.value))] }
      if (whole.value?.url !== undefined) URL.revokeObjectURL(whole.value.url)
      whole.value = await ask('POST', path, body)
      took.value = performance.now() - began
    } catch (cause) {
      error.value = messageOf(cause)
    } finally {
      isBusy.value = false
    }
  }
  return (
    <div class="grid">
      <form
        class="card w5"
        aria-label="Input"
        onSubmit={event => {
          event.preventDefault()
          void run()
        }}
      >
        <div class="fields">
          <ChooseKey plan={plan} value={key.value} onChange={next => (key.value = next)} />
          <ChooseModel plan={plan} value={model.value} onChange={next => (model.value = next)} />
        </div>
        {file === undefined ? null : (
          <div class="fields">
            <label>
              File
              <input type="file" accept={file} onChange={event => (upload.value = event.currentTarget.files?.[0])} />
            </label>
            {file.startsWith('audio') ? <RecordSound onSound={sound => (upload.value = sound)} /> : null}
            {heard === undefined ? null : (
              // biome-ignore lint/a11y/useMediaCaption: what it says is what one asks for
              <audio controls src={heard} aria-label={`What will be sent: ${upload.value?.name}`} />
            )}
          </div>
        )}
        {operation.name !== 'edit' || upload.value === undefined ? null : (
          <Mask file={upload.value} onMask={next => (mask.value = next)} />
        )}
        <label>
          <span class="mut">{label}</span>
          <textarea rows={6} value={input.value} onInput={event => (input.value = event.currentTarget.value)} />
        </label>
        <div class="bar-of-controls end">
          <button type="submit" class="btn primary" disabled={isBusy.value}>
            {isBusy.value ? 'Running' : 'Run'}
          </button>
          <code>POST {path}</code>
        </div>
        <Code
          programs={operationCode(
            {
              ...{ name: operation.name, path, fields: json(model.value, input.value) },
              file: file === undefined ? undefined : fileField(file),
            },
            plan.base,
          )}
        />
      </form>
      <section class="card w7" aria-label="Answer" aria-live="polite">
        {error.value === undefined ? null : <p class="bad">{error.value}</p>}
        {whole.value === undefined ? (
          <div class="empty">Run it to see the answer here.</div>
        ) : (
          <>
            <Shown whole={whole.value} input={input.value} ask={target => ask('GET', target, {})} />
            <p class="mut">
              {whole.value.status} in {text(milliseconds(took.value))}{' '}
              {whole.value.id === undefined ? null : <a href={`/requests/${whole.value.id}`}>Its way</a>}
            </p>
          </>
        )}
      </section>
    </div>
  )
}

async function maskPart(mask: Blob | undefined): Promise<readonly object[]> {
  if (mask === undefined) return []
  return [{ name: 'mask', filename: 'mask.png', type: 'image/png', data: await base64Of(mask) }]
}

async function formOf(fields: object, given: File, accept: string): Promise<readonly object[]> {
  return [
    ...Object.entries(fields).map(([name, value]) => ({ name, value: String(value) })),
    {
      name: fileField(accept),
      filename: given.name,
      type: given.type === '' ? 'application/octet-stream' : given.type.split(';')[0],
      data: await base64Of(given),
    },
  ]
}
