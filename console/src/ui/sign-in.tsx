import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { call, messageOf } from '../api.js'
import type { Session } from '../types.js'

/** A fragment is never sent or logged; what is read of it is gone from the address. */
export function ofFragment(name: string): string | undefined {
  const value = new URLSearchParams(location.hash.slice(1)).get(name) ?? undefined
  if (value !== undefined) history.replaceState(null, '', location.pathname + location.search)
  return value
}

/** Why the issuer's word opened no session. */
const REFUSED: Readonly<Record<string, string>> = {
  person:
    'You have signed in, and have no role here: the configuration gives one to none of your claims. The log says more.',
  issuer: 'The issuer cannot be asked at the moment. The log says why.',
}

interface Ways {
  readonly key: boolean
  readonly oidc?: string
}

/** `failure`: why a link opened no session. */
export function SignIn({
  failure,
  onSignedIn,
}: {
  readonly failure: string | undefined
  readonly onSignedIn: () => void
}) {
  const key = useSignal('')
  const isViewer = useSignal(false)
  const error = useSignal<string | undefined>(undefined)
  const isBusy = useSignal(false)
  const ways = useSignal<Ways | undefined>(undefined)
  const open = async (body: object): Promise<void> => {
    isBusy.value = true
    try {
      await call<Session>('/admin/session', { method: 'POST', body })
      onSignedIn()
    } catch (cause) {
      error.value = messageOf(cause)
    } finally {
      isBusy.value = false
    }
  }
  useEffect(() => {
    const refused = ofFragment('refused')
    if (refused !== undefined) error.value = REFUSED[refused] ?? 'No session was opened.'
    void call<Ways>('/admin/session/ways').then(
      found => (ways.value = found),
      () => undefined,
    )
  }, [])
  useEffect(() => {
    if (failure !== undefined) error.value = failure
  }, [failure])
  return (
    <main class="sign-in">
      <form
        class="card"
        onSubmit={event => {
          event.preventDefault()
          void open({ key: key.value, viewer: isViewer.value })
        }}
      >
        <div class="logo">
          <b />
          Gateway
        </div>
        <h1>Sign in</h1>
        {ways.value?.oidc === undefined ? null : (
          <>
            {/* The browser leaves for the issuer: the page must not take the click. */}
            <a class="btn primary" href="/admin/oidc/start" target="_self">
              Continue at {ways.value.oidc}
            </a>
            <p class="or">or with the admin key</p>
          </>
        )}
        <label for="key">Admin key</label>
        <input
          id="key"
          type="password"
          autocomplete="current-password"
          value={key.value}
          required
          onInput={event => (key.value = event.currentTarget.value)}
        />
        <p class="mut">
          It is in the variable <code>GATEWAY_ADMIN_KEY</code>, or in the file <code>data/keys/@admin</code> that the
          first start made. <code>gateway console</code> prints a link that needs no key.
        </p>
        <label class="check">
          <input
            type="checkbox"
            checked={isViewer.value}
            onChange={event => (isViewer.value = event.currentTarget.checked)}
          />
          Look only: this session can change nothing
        </label>
        {error.value === undefined ? null : (
          <p class="bad" role="alert">
            {error.value}
          </p>
        )}
        <button type="submit" class={ways.value?.oidc === undefined ? 'btn primary' : 'btn'} disabled={isBusy.value}>
          Sign in
        </button>
      </form>
    </main>
  )
}
