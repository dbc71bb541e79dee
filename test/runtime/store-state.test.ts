import { Writable } from 'node:stream'
import t from 'tap'
import { StoreState } from '../../src/runtime/store-state.js'
import { openLog } from '../../src/sinks/log.js'

function told(): { readonly state: StoreState; readonly messages: string[] } {
  const messages: string[] = []
  const stream = new Writable({
    write: (line: Buffer, _encoding, done) => {
      messages.push((JSON.parse(line.toString()) as { msg: string }).msg)
      done()
    },
  })
  const state = new StoreState()
  state.attach(openLog({ level: 'info', format: 'json' }, stream))
  return { state, messages }
}

const DOWN = 'the store cannot be used'

t.test('the loss of the store is reported once, even if single calls failed before', async t => {
  const { state, messages } = told()
  state.failed(new Error('the connection is closed'))
  state.down('refused')
  state.down('refused')
  t.same(messages, ['a record could not be stored', DOWN])
  t.equal(state.reason, 'refused')
})

t.test('its return is reported once, and the next loss again', async t => {
  const { state, messages } = told()
  state.down('refused')
  state.up()
  state.up()
  t.equal(state.reason, undefined)
  state.down('refused')
  t.same(messages, [DOWN, 'the store can be used again', DOWN])
})
