import { useSignal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { count } from '../format.js'
import { parameter } from '../router.js'
import { mayChange } from '../state/session.js'
import { Conversation } from '../state/voice.js'
import type { PlanAnswer } from '../types.js'
import { ChooseKey, ChooseModel } from '../ui/choose.js'
import { OnlyLooking, Pre, State } from '../ui/parts.js'

/** A spoken conversation: the microphone of this browser, and a realtime model. */
export function Voice({ plan }: { readonly plan: PlanAnswer }) {
  const conversation = useMemo(() => new Conversation(), [])
  useEffect(() => () => conversation.close(), [])
  const key = useSignal(plan.keys.find(({ off }) => off === undefined)?.name ?? '')
  const model = useSignal(parameter('model') ?? plan.models.find(({ name }) => /realtime/.test(name))?.name ?? '')
  const words = useSignal('')
  const state = conversation.state.value
  const isOpen = state === 'open'
  return (
    <div class="grid">
      <section class="card w5" aria-label="Session">
        <div class="fields">
          <ChooseKey plan={plan} value={key.value} onChange={next => (key.value = next)} />
          <ChooseModel plan={plan} value={model.value} onChange={next => (model.value = next)} />
        </div>
        <div class="bar-of-controls">
          {state === 'closed' ? (
            <button
              type="button"
              class="btn primary"
              disabled={!mayChange.value}
              onClick={() => void conversation.open(key.value, model.value)}
            >
              Start talking
            </button>
          ) : (
            <button type="button" class="btn danger" onClick={() => conversation.close()}>
              End
            </button>
          )}
          <code>WS /v1/realtime</code>
        </div>
        <OnlyLooking />
        <p>
          {state === 'closed' ? (
            <State level="idle">Not connected</State>
          ) : state === 'connecting' ? (
            <State level="probing">Connecting</State>
          ) : (
            <State level="ok">{conversation.isHeard.value ? 'Hears you' : 'Connected'}</State>
          )}
        </p>
        {conversation.level.value === undefined ? null : (
          <>
            <span class="mut" id="level">
              Microphone
            </span>
            <meter class="level" aria-labelledby="level" min={0} max={1} value={conversation.level.value} />
          </>
        )}
        {conversation.error.value === undefined ? null : (
          <p class="bad" role="alert">
            {conversation.error.value}
          </p>
        )}
        <form
          onSubmit={event => {
            event.preventDefault()
            conversation.write(words.value)
            words.value = ''
          }}
        >
          <div class="fields">
            <label class="whole">
              Or write
              <input
                type="text"
                value={words.value}
                disabled={!isOpen}
                onInput={event => (words.value = event.currentTarget.value)}
              />
            </label>
            <button type="submit" class="btn" disabled={!isOpen || words.value === ''}>
              Send
            </button>
          </div>
        </form>
        <p class="mut">
          The session has the limits of the key, and is in the log. The model may take turns when you pause; speaking
          interrupts it.
        </p>
      </section>
      <section class="card w7" aria-label="Conversation">
        {conversation.turns.value.length === 0 ? (
          <div class="empty">What is said appears here.</div>
        ) : (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard must be able to scroll it
          <ol class="said" aria-live="polite" aria-label="Turns" tabIndex={0}>
            {conversation.turns.value.map(({ id, who, text }) => (
              <li key={id} class={who === 'You' ? 'you' : ''}>
                <strong>{who}</strong> {text}
              </li>
            ))}
          </ol>
        )}
        <details>
          <summary>
            Messages{conversation.tokens.value === 0 ? '' : `, ${count(conversation.tokens.value)} tokens`}
          </summary>
          <Pre>{conversation.events.value.join('\n')}</Pre>
        </details>
      </section>
    </div>
  )
}
