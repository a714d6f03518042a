"""mercer studio: a page on this machine where kernels are understood by touching them.

Design
------
Three processes. The *server* (`pages`, behind `request_guard`) speaks HTTP on 127.0.0.1 and computes nothing. A *live*
child answers the views that move (points, sliders); it stays warm, so that an answer takes milliseconds. A *file* child
holds the user's file and its model; a fit may take minutes there, and is stopped by ending the process. Both children
run `child_work`, read one JSON object a line and answer in lines; `child_process` is their other end. They have limits
on memory and on processor time, and are started anew when they end.

Safety. The address in the terminal carries a random token behind its `#`, which browsers do not send; the page hands it
in once and gets a cookie that scripts cannot read and other sites cannot send. Whoever asks must name this server as
Host, must come from this origin unless only reading, and must have the cookie. The browser sends numbers, kernels as
text of mercer's own grammar (`mercer.parse`), the bytes of files, and names of columns; never a path. Files are written
in one folder only, which is named when the studio starts.

Views. Each view is a function from checked fields (`form_fields`) to numbers: `playground`, `process_view`,
`two_samples`, `gram_view` with `sharing`, `file_jobs`, `score_surface`, `typed_samples`. Beside its numbers it returns
two texts, `python` and `command`, from the same fields: what they print is what the view shows (`snippets`). Pictures
that move are drawn in the browser from grids of numbers; others are the Displays of `mercer.plots`, as SVG.

The browser's part is in `static`: one page, one style sheet, modules without a framework or a build step.
"""
