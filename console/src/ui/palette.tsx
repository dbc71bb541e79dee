import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { go } from '../router.js'
import { otherTheme } from '../settings.js'
import { useFetched } from '../state/fetched.js'
import type { PlanAnswer } from '../types.js'
import { PAGES } from './pages.js'

interface Entry {
  readonly name: string
  readonly hint: string
  readonly act: () => void
}

const MAX_FOUND = 12
const OPERATIONS = ['embeddings', 'rerank', 'image', 'edit', 'speech', 'transcription', 'video', 'voice']

function entriesOf(plan: PlanAnswer | undefined, typed: string): readonly Entry[] {
  const to = (name: string, hint: string, address: string): Entry => ({ name, hint, act: () => go(address) })
  const found = [
    ...PAGES.map(({ name, href }) => to(name, 'page', href)),
    to('Failed requests', 'requests', '/requests?status=5xx'),
    to('Slow requests, from 2 s', 'requests', '/requests?slow=2000'),
    to('Check a draft of the configuration', 'plan', '/plan?view=file'),
    to('Explain a request', 'plan', '/plan?view=explain'),
    to('Generations, and back to an older one', 'plan', '/plan?view=generations'),
    to('New key', 'keys', '/keys?new=1'),
    ...OPERATIONS.map(name => to(`Try ${name}`, 'playground', `/play?operation=${name}`)),
    { name: 'Change between light and dark', hint: 'theme', act: otherTheme },
    ...(plan?.models ?? []).flatMap(({ name }) => [
      to(`Try ${name}`, 'model', `/play?model=${encodeURIComponent(name)}`),
      to(`Model ${name}`, 'model', `/models?name=${encodeURIComponent(name)}`),
      to(`Requests for ${name}`, 'model', `/requests?model=${encodeURIComponent(name)}`),
    ]),
    ...(plan?.keys ?? []).map(({ name }) => to(`Key ${name}`, 'key', `/keys?name=${encodeURIComponent(name)}`)),
    ...(plan?.upstreams ?? []).map(({ name }) =>
      to(`Upstream ${name}`, 'upstream', `/upstreams?name=${encodeURIComponent(name)}`),
    ),
  ]
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean)
  const fitting = found.filter(({ name, hint }) => words.every(word => `${name} ${hint}`.toLowerCase().includes(word)))
  const id = typed.trim()
  const isId = /^[0-9a-f-]{32,36}$/i.test(id)
  return [...(isId ? [to(`Open request ${id}`, 'request', `/requests/${id}`)] : []), ...fitting].slice(0, MAX_FOUND)
}

/** Everything by its name, from the keyboard. */
export function Palette({ onClose }: { readonly onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const typed = useSignal('')
  const at = useSignal(0)
  const { data } = useFetched<PlanAnswer>('/admin/plan')
  useEffect(() => dialog.current?.showModal(), [])
  const entries = entriesOf(data.value, typed.value)
  const choose = (entry: Entry | undefined): void => {
    if (entry === undefined) return
    onClose()
    entry.act()
  }
  const press = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) {
      event.preventDefault()
      at.value = (at.value + step + entries.length) % Math.max(1, entries.length)
    }
    if (event.key === 'Enter') choose(entries[at.value])
  }
  return (
    <dialog ref={dialog} class="palette" aria-label="Search or run" onClose={onClose}>
      <input
        type="text"
        role="combobox"
        aria-label="Search or run"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={`entry-${at.value}`}
        placeholder="A page, a name, or the id of a request"
        value={typed.value}
        onInput={event => {
          typed.value = event.currentTarget.value
          at.value = 0
        }}
        onKeyDown={press}
      />
      <div id="palette-list" role="listbox" aria-label="Results">
        {entries.map((entry, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the field above
          <div
            key={entry.name}
            id={`entry-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === at.value}
            onClick={() => choose(entry)}
          >
            {entry.name}
            <span class="mut">{entry.hint}</span>
          </div>
        ))}
      </div>
      {entries.length === 0 ? <p class="mut">Nothing has this name.</p> : null}
    </dialog>
  )
}
