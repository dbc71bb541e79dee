import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { messageOf } from '../api.js'
import { Bar } from '../ui/parts.js'
import type { Whole } from './whole-answer.js'

const EVERY_MS = 1000

/** What clients read of a task while it runs: its progress as a number, or as `42%`. */
interface Record {
  readonly status?: string
  readonly progress?: number | string
  readonly failReason?: string
}

const KINDS = {
  video: { at: (id: string) => `/v1/videos/${id}`, result: (id: string) => `/v1/videos/${id}/content` },
  image: { at: (id: string) => `/mj/task/${id}/fetch`, result: (id: string) => `/mj/image/${id}` },
} as const

const DONE = /^(completed|success)$/i
const ENDED = /^(completed|success|failed|failure|cancelled?|expired|not_found)$/i

interface Props {
  readonly id: string
  readonly kind: keyof typeof KINDS
  readonly ask: (path: string) => Promise<Whole>
}

/** Follows a task until its result is there, and shows that. */
export function Follow({ id, kind, ask }: Props) {
  const state = useSignal('queued')
  const progress = useSignal(0)
  const content = useSignal<Whole | undefined>(undefined)
  const error = useSignal<string | undefined>(undefined)
  useEffect(() => {
    let isOver = false
    const own = encodeURIComponent(id)
    const look = async (): Promise<void> => {
      const known = ((await ask(KINDS[kind].at(own))).data ?? {}) as Record
      state.value = (known.status ?? 'unknown').toLowerCase()
      progress.value = Number.parseFloat(String(known.progress ?? 0)) || 0
      if (known.failReason) error.value = known.failReason
      if (DONE.test(state.value)) content.value = await ask(KINDS[kind].result(own))
      if (!isOver && !ENDED.test(state.value)) setTimeout(follow, EVERY_MS)
    }
    const follow = (): void => void look().catch((cause: unknown) => (error.value = messageOf(cause)))
    follow()
    return () => {
      isOver = true
    }
  }, [id])
  const url = content.value?.url
  const words = `${state.value.replaceAll('_', ' ')}${ENDED.test(state.value) ? '' : `, ${progress.value} %`}`
  return (
    <>
      <p role="status">
        {words} · <a href={`/tasks?id=${encodeURIComponent(id)}`}>Its task</a>
      </p>
      {ENDED.test(state.value) ? null : (
        <Bar part={progress.value / 100} isProgress={true} label={`${progress.value} percent done`} />
      )}
      {error.value === undefined ? null : <p class="bad">{error.value}</p>}
      {url === undefined ? null : kind === 'video' ? (
        // biome-ignore lint/a11y/useMediaCaption: it is simulated or has none
        <video controls src={url} />
      ) : (
        <img class="made" src={url} alt={`The result of ${id}`} />
      )}
    </>
  )
}
