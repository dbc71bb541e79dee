import type { ComponentChildren } from 'preact'
import type { Figure } from '../format.js'
import { mayChange } from '../state/session.js'
import { Icon, type IconName } from './icon.js'

export function Value({ figure: [number, unit] }: { readonly figure: Figure }) {
  return (
    <>
      {number}
      {unit === '' ? null : <small>{unit}</small>}
    </>
  )
}

interface CardProps {
  readonly title: string
  readonly class?: string
  readonly aside?: ComponentChildren
  readonly children: ComponentChildren
}

export function Card({ title, aside, children, class: own = '' }: CardProps) {
  return (
    <section class={`card ${own}`} aria-label={title}>
      <div class="ch">
        <h2>{title}</h2>
        {aside}
      </div>
      {children}
    </section>
  )
}

export type Level = 'ok' | 'warn' | 'bad' | 'probing' | 'idle'

const ICONS: Readonly<Record<Level, IconName>> = {
  ok: 'ok',
  warn: 'warn',
  bad: 'bad',
  probing: 'probing',
  idle: 'idle',
}

/** A state is a colour, a sign and a word. */
export function State({ level, children }: { readonly level: Level; readonly children: ComponentChildren }) {
  return (
    <span class={`st ${level}`}>
      <Icon name={ICONS[level]} />
      {children}
    </span>
  )
}

export function Failure({ error, again }: { readonly error: string | undefined; readonly again?: () => void }) {
  if (error === undefined) return null
  return (
    <div class="failure" role="alert">
      <Icon name="warn" />
      <span>{error}</span>
      {again === undefined ? null : (
        <button type="button" class="btn" onClick={again}>
          Try again
        </button>
      )}
    </div>
  )
}

export function Empty({ children }: { readonly children: ComponentChildren }) {
  return <div class="empty">{children}</div>
}

interface SegmentsProps<T extends string> {
  readonly label: string
  readonly options: readonly T[]
  readonly value: T
  readonly onChange: (value: T) => void
}

export function Segments<T extends string>({ label, options, value, onChange }: SegmentsProps<T>) {
  return (
    <fieldset class="seg" aria-label={label}>
      {options.map(option => (
        <button type="button" key={option} aria-pressed={option === value} onClick={() => onChange(option)}>
          {option}
        </button>
      ))}
    </fieldset>
  )
}

interface BarProps {
  readonly part: number
  readonly label: string
  /** Full is good: what is done of something. */
  readonly isProgress?: boolean
}

export function Bar({ part, label, isProgress = false }: BarProps) {
  const level = isProgress ? '' : part >= 1 ? 'bad' : part >= 0.8 ? 'warn' : ''
  return (
    <div class={`bar ${level}`} role="img" aria-label={label}>
      <div style={{ width: `${Math.min(100, part * 100)}%` }} />
    </div>
  )
}

export function Copy({ text, label = 'Copy' }: { readonly text: string; readonly label?: string }) {
  return (
    <button
      type="button"
      class="btn"
      onClick={event => {
        const button = event.currentTarget
        void navigator.clipboard?.writeText(text).then(() => {
          button.dataset.done = 'Copied'
          setTimeout(() => delete button.dataset.done, 1500)
        })
      }}
    >
      <Icon name="copy" /> {label}
    </button>
  )
}

/** Text as it is, which a keyboard can scroll. */
export function Pre({ children }: { readonly children: ComponentChildren }) {
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard must be able to scroll it
  return <pre tabIndex={0}>{children}</pre>
}

/** Why what is dimmed here cannot be used. */
export function OnlyLooking() {
  if (mayChange.value) return null
  return <p class="mut">This session may only look: sign in again to change something.</p>
}
