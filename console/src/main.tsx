import { effect, signal } from '@preact/signals'
import { type ComponentType, render } from 'preact'
import { useEffect } from 'preact/hooks'
import { ApiError, call, messageOf, whenSignedOut } from './api.js'
import { clock, short } from './format.js'
import { Overview } from './pages/overview.js'
import { followLinks, go, path } from './router.js'
import { otherTheme, shade, startTheme } from './settings.js'
import { link, startLive, stats, stopLive } from './state/live.js'
import { session } from './state/session.js'
import type { Session } from './types.js'
import { Icon } from './ui/icon.js'
import { PAGES } from './ui/pages.js'
import { Palette } from './ui/palette.js'
import { Empty, Failure } from './ui/parts.js'
import { ofFragment, SignIn } from './ui/sign-in.js'

const isPalette = signal(false)

/** Pages are loaded when they are first looked at. */
const LATER: Readonly<Record<string, () => Promise<ComponentType>>> = {
  requests: () => import('./pages/requests.js').then(({ Requests }) => Requests),
  play: () => import('./pages/play.js').then(({ Play }) => Play),
  plan: () => import('./pages/plan.js').then(({ Plan }) => Plan),
  models: () => import('./pages/models.js').then(({ Models }) => Models),
  keys: () => import('./pages/keys.js').then(({ Keys }) => Keys),
  upstreams: () => import('./pages/upstreams.js').then(({ Upstreams }) => Upstreams),
  faults: () => import('./pages/faults.js').then(({ Faults }) => Faults),
  files: () => import('./pages/files.js').then(({ Files }) => Files),
  tasks: () => import('./pages/tasks.js').then(({ Tasks }) => Tasks),
}
const loaded = signal<Readonly<Record<string, ComponentType>>>({})

function Page() {
  const [, name = ''] = path.value.split('/')
  const later = LATER[name]
  const Known = name === '' ? Overview : loaded.value[name]
  useEffect(() => {
    if (later === undefined || loaded.value[name] !== undefined) return
    void later().then(Loaded => {
      loaded.value = { ...loaded.value, [name]: Loaded }
    })
  }, [name])
  if (Known !== undefined) return <Known />
  if (later !== undefined) return <div class="loading" role="status" aria-label="Loading" />
  return (
    <Empty>
      There is no such page. Go to the <a href="/">overview</a>, or search with <kbd>Ctrl K</kbd>.
    </Empty>
  )
}

function titleOf(address: string): string {
  return PAGES.find(({ href }) => href !== '/' && address.startsWith(href))?.name ?? 'Overview'
}

/** Of the pages, those that a narrow bar has beside the way to all others. */
const NARROW = 4

function Place({ page: { name, href, icon } }: { readonly page: (typeof PAGES)[number] }) {
  const isHere = name === titleOf(path.value)
  return (
    <a href={href} title={name} {...(isHere ? { 'aria-current': 'page' as const } : {})}>
      <Icon name={icon} />
      <span>{name}</span>
    </a>
  )
}

function SideBar() {
  return (
    <nav class="side" aria-label="Main">
      <div class="logo">
        <b />
        <span>Gateway</span>
      </div>
      {PAGES.map(page => (
        <Place key={page.href} page={page} />
      ))}
      <a href="/docs/index.html" target="_blank" title="Documentation" rel="noopener">
        <Icon name="docs" />
        <span>Documentation</span>
      </a>
      <Foot />
    </nav>
  )
}

function BottomBar() {
  const isElsewhere = PAGES.slice(NARROW).some(({ name }) => name === titleOf(path.value))
  return (
    <nav class="tabs" aria-label="Main, small">
      {PAGES.slice(0, NARROW).map(page => (
        <Place key={page.href} page={page} />
      ))}
      <button type="button" class={isElsewhere ? 'here' : ''} onClick={() => (isPalette.value = true)}>
        <Icon name="more" />
        <span>{isElsewhere ? titleOf(path.value) : 'More'}</span>
      </button>
    </nav>
  )
}

function Foot() {
  const known = stats.value
  const { role, name } = session.value === undefined || session.value === 'none' ? {} : session.value
  return (
    <footer>
      {known === undefined ? null : (
        <>
          Plan {known.generation} · {known.digest.slice(0, 6)}
          <br />
          {known.processes === 1 ? '1 process' : `${known.processes} processes`}
          <br />
        </>
      )}
      {name === undefined ? null : (
        <>
          <span title={name}>{short(name, 26)}</span>
          <br />
        </>
      )}
      {role === 'viewer' ? 'Looks only' : 'May change'}
      <br />
      <button type="button" class="link" onClick={() => void signOut()}>
        Sign out
      </button>
    </footer>
  )
}

async function signOut(): Promise<void> {
  await call('/admin/session', { method: 'DELETE' }).catch(() => undefined)
  stopLive()
  linkFailure.value = undefined
  session.value = 'none'
}

function Header() {
  const state = link.value
  const at = stats.value?.at
  return (
    <header>
      <h1>{titleOf(path.value)}</h1>
      <span class={`live ${state}`} role="status">
        {state === 'live'
          ? 'Live'
          : state === 'lost'
            ? `No answer${at === undefined ? '' : ` since ${clock(at)}`}`
            : 'Connecting'}
      </span>
      <div class="grow" />
      <button type="button" class="btn" onClick={() => (isPalette.value = true)}>
        <Icon name="search" /> <span class="wide">Search or run</span> <kbd>Ctrl K</kbd>
      </button>
      <button
        type="button"
        class="btn"
        onClick={otherTheme}
        aria-label={shade.value === 'dark' ? 'Change to light' : 'Change to dark'}
      >
        <Icon name="theme" />
      </button>
    </header>
  )
}

/** No one should look for the cause of failures that were asked for. */
function Disturbed() {
  const faults = stats.value?.faults ?? []
  if (faults.length === 0 || path.value === '/faults') return null
  return (
    <section class="say warn" aria-label="Simulated faults">
      <Icon name="faults" />
      <span>
        Simulated faults are on at {faults.slice(0, 3).join(', ')}
        {faults.length > 3 ? ` and ${faults.length - 3} more` : ''}.
      </span>
      <a href="/faults">Faults</a>
    </section>
  )
}

function App() {
  if (session.value === undefined) return <div class="loading" role="status" aria-label="Loading" />
  if (session.value === 'none') return <SignIn failure={linkFailure.value} onSignedIn={() => void begin()} />
  return (
    <div class="app">
      <SideBar />
      <main>
        <Header />
        <Failure error={linkFailure.value} />
        <Disturbed />
        <Page />
      </main>
      <BottomBar />
      {isPalette.value ? <Palette onClose={() => (isPalette.value = false)} /> : null}
    </div>
  )
}

let isAfterG = false

function press(event: KeyboardEvent): void {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
    event.preventDefault()
    isPalette.value = !isPalette.value
    return
  }
  // Of the editor, which has a tree of its own, the event itself names only the frame.
  const place = event.composedPath()[0] as HTMLElement
  if (
    event.ctrlKey ||
    event.metaKey ||
    event.altKey ||
    place.closest('input, textarea, select, [contenteditable], dialog')
  )
    return
  const page = isAfterG ? PAGES.find(({ key }) => key === event.key) : undefined
  isAfterG = event.key === 'g'
  if (page !== undefined) go(page.href)
  if (event.key === '/') {
    const field = document.querySelector<HTMLElement>('[data-filter]')
    if (field === null) return
    event.preventDefault()
    field.focus()
  }
}

/** Why a link that the gateway printed opened no session. */
const linkFailure = signal<string | undefined>(undefined)

/** A link counts also where there is a session: that one may only look. */
async function begin(code = ofFragment('code')): Promise<void> {
  linkFailure.value = undefined
  try {
    if (code !== undefined) await call<Session>('/admin/session', { method: 'POST', body: { code } })
  } catch (cause) {
    linkFailure.value = messageOf(cause)
  }
  try {
    session.value = await call<Session>('/admin/session')
    startLive()
  } catch (cause) {
    // A gateway that is away ends no session.
    const isOver = cause instanceof ApiError && cause.status === 401
    if (isOver || session.value === undefined) session.value = 'none'
  }
}

startTheme()
followLinks()
whenSignedOut(() => {
  stopLive()
  session.value = 'none'
})
document.addEventListener('keydown', press)
addEventListener('hashchange', () => {
  const code = ofFragment('code')
  if (code !== undefined) void begin(code)
})
effect(() => {
  document.title = `${titleOf(path.value)} · Gateway console`
  linkFailure.value = undefined
})
const place = document.getElementById('app')
if (place !== null) render(<App />, place)
void begin()
