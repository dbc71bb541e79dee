import { line } from '../panels.mjs'
import { p } from '../queries.mjs'

export const tasks = {
  uid: 'model-gateway-tasks',
  title: 'Model gateway: tasks',
  description:
    'Long-running work such as videos: how much there is, how long it takes, and whether clients hear of it.',
  rows: [
    {
      title: 'Tasks',
      panels: [
        line('Tasks by state', 'Tasks in the store. Ended ones are there as long as they are kept.', 'short', [
          ['max by (task_kind, state) (gateway_tasks{@})', '{{task_kind}}: {{state}}'],
        ]),
        line('Oldest task', 'Age of the oldest task that has not ended.', 's', [
          ['max by (task_kind, state) (gateway_task_oldest_age_seconds{@})', '{{task_kind}}: {{state}}'],
        ]),
        line('Changes', 'Tasks each second that came to a state.', 'ops', [
          ['sum by (state) (rate(gateway_task_changes_total{@}[@]))', '{{state}}'],
        ]),
        line('Duration', 'Time from the creation of a task to its good end.', 's', [
          [p(0.5, 'gateway_task_duration_seconds', ['task_kind'], ',state="succeeded"'), '{{task_kind}} p50'],
          [p(0.95, 'gateway_task_duration_seconds', ['task_kind'], ',state="succeeded"'), '{{task_kind}} p95'],
        ]),
        line('Ended tasks', 'Tasks each second that ended, by how.', 'ops', [
          ['sum by (task_kind, state) (rate(gateway_task_duration_seconds_count{@}[@]))', '{{task_kind}}: {{state}}'],
        ]),
        line(
          'Notifications',
          'Attempts each second to notify clients by webhooks. again: it will be tried again.',
          'ops',
          [['sum by (outcome) (rate(gateway_webhook_attempts_total{@}[@]))', '{{outcome}}']],
        ),
      ],
    },
    {
      title: 'Store behind them',
      panels: [
        line('Operations of the store', 'Operations each second, by their name.', 'ops', [
          ['sum by (operation) (rate(gateway_store_operation_duration_seconds_count{@}[@]))', '{{operation}}'],
        ]),
        line('Time of the store, p95', 'Time of one operation of the store.', 's', [
          [p(0.95, 'gateway_store_operation_duration_seconds', ['operation']), '{{operation}}'],
        ]),
      ],
    },
  ],
}
