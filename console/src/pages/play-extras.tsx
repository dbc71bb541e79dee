import { type Signal, useSignal } from '@preact/signals'
import { Icon } from '../ui/icon.js'
import { RecordSound } from '../ui/record-sound.js'
import {
  type Attachment,
  type Conversation,
  EFFORTS,
  EXAMPLE_SCHEMA,
  EXAMPLE_TOOLS,
  type Tool,
} from './conversation.js'
import { base64Of } from './run.js'

/** Largest file that goes with a text, bytes. */
const MAX_FILE_BYTES = 8 * 1024 * 1024

/** What can go with a conversation, as it is typed. */
export interface Extras {
  readonly tools: Signal<string>
  readonly schema: Signal<string>
  readonly effort: Signal<string>
  readonly isSpoken: Signal<boolean>
  readonly files: Signal<readonly Attachment[]>
}

export function useExtras(): Extras {
  return {
    tools: useSignal(''),
    schema: useSignal(''),
    effort: useSignal(''),
    isSpoken: useSignal(false),
    files: useSignal<readonly Attachment[]>([]),
  }
}

type Said = Pick<Conversation, 'tools' | 'schema' | 'effort' | 'isSpoken' | 'files'>

function parsed<T>(typed: string): T | undefined {
  if (typed.trim() === '') return undefined
  try {
    return JSON.parse(typed) as T
  } catch {
    return undefined
  }
}

/** What of it is written well enough to be sent. */
export function extrasOf({ tools, schema, effort, isSpoken, files }: Extras): Said {
  const known = parsed<readonly Tool[] | Tool>(tools.value)
  return {
    tools: known === undefined ? [] : Array.isArray(known) ? known : [known as Tool],
    schema: parsed<object>(schema.value),
    effort: EFFORTS.find(one => one === effort.value),
    isSpoken: isSpoken.value,
    files: files.value,
  }
}

function kindOf({ type }: File): Attachment['kind'] {
  if (type.startsWith('image/')) return 'image'
  return type.startsWith('audio/') ? 'audio' : 'file'
}

export function ExtraFields({ extras: { tools, schema, effort, isSpoken, files } }: { readonly extras: Extras }) {
  const error = useSignal<string | undefined>(undefined)
  const add = async (given: readonly File[]): Promise<void> => {
    error.value = undefined
    for (const file of given) {
      if (file.size > MAX_FILE_BYTES) {
        error.value = `${file.name} is larger than ${MAX_FILE_BYTES / 1024 / 1024} MiB.`
        continue
      }
      const { name, type } = file
      const data = await base64Of(file)
      files.value = [...files.value, { kind: kindOf(file), name, type: type || 'application/octet-stream', data }]
    }
  }
  const used = [tools.value !== '', schema.value !== '', effort.value !== '', isSpoken.value, files.value.length > 0]
  return (
    <details class="extras">
      <summary>Tools, structured output, files and reasoning{used.some(Boolean) ? ': in use' : ''}</summary>
      <div class="turns even">
        <Json label="Tools" value={tools} example={EXAMPLE_TOOLS} />
        <Json label="JSON Schema of the answer" value={schema} example={EXAMPLE_SCHEMA} />
      </div>
      <div class="fields">
        <label>
          Reasoning
          <select value={effort.value} onChange={event => (effort.value = event.currentTarget.value)}>
            <option value="">as the model does</option>
            {EFFORTS.map(one => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
        <label>
          Images, sounds and files
          <input
            type="file"
            multiple
            onChange={event => {
              void add([...(event.currentTarget.files ?? [])])
              event.currentTarget.value = ''
            }}
          />
        </label>
        <RecordSound onSound={sound => void add([sound])} />
        <label class="check">
          <input
            type="checkbox"
            checked={isSpoken.value}
            onChange={event => (isSpoken.value = event.currentTarget.checked)}
          />
          spoken answer
        </label>
      </div>
      {error.value === undefined ? null : (
        <p class="bad" role="alert">
          {error.value}
        </p>
      )}
      <p class="group">
        {files.value.map(file => (
          <button
            type="button"
            class="chip"
            key={file.name}
            title="Remove this file"
            onClick={() => (files.value = files.value.filter(one => one !== file))}
          >
            {file.kind}: {file.name} <Icon name="close" />
          </button>
        ))}
      </p>
    </details>
  )
}

interface JsonProps {
  readonly label: string
  readonly value: Signal<string>
  readonly example: string
}

function Json({ label, value, example }: JsonProps) {
  const isBroken = value.value.trim() !== '' && parsed(value.value) === undefined
  return (
    <div>
      <label>
        <span class="mut">{label}</span>
        <textarea
          class="mono"
          rows={5}
          spellcheck={false}
          placeholder="none"
          value={value.value}
          onInput={event => (value.value = event.currentTarget.value)}
        />
      </label>
      {isBroken ? <p class="warn">This is not JSON yet, and is not sent.</p> : null}
      <button type="button" class="link" onClick={() => (value.value = value.value === '' ? example : '')}>
        {value.value === '' ? 'Put in an example' : 'Remove'}
      </button>
    </div>
  )
}
