import t from 'tap'
import { descriptorLimit } from '../../src/runtime/descriptors.js'
import { pretends } from '../helpers/platform.js'

/** The limit of open files on systems that CI does not have: `process.platform` is replaced. */

t.test('on macOS the report of the runtime gives the limit that Linux reads of itself', async t => {
  const limit = descriptorLimit()
  t.ok(limit === undefined || limit > 0)
  pretends(t, 'darwin')
  t.equal(descriptorLimit(), limit)
})

t.test('on Windows, whose report has no limits, there is none', async t => {
  pretends(t, 'win32')
  const { report } = process
  const { getReport } = report
  report.getReport = () => {
    const { userLimits, ...rest } = getReport.call(report) as { userLimits?: object }
    t.ok(userLimits)
    return rest
  }
  t.teardown(() => {
    report.getReport = getReport
  })
  t.equal(descriptorLimit(), undefined)
})
