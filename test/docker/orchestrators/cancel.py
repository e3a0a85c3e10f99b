"""Sends this process a signal as soon as it waits for a gmsi that can be stopped."""

import os
import subprocess
import time

wait = subprocess.Popen.wait


def cancel_with(number, ready):
    def wait_and_cancel(self, timeout=None):
        subprocess.Popen.wait = wait
        while not os.path.exists(ready):
            time.sleep(0.01)
        os.kill(os.getpid(), number)
        return wait(self, timeout)

    subprocess.Popen.wait = wait_and_cancel
