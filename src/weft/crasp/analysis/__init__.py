"""Questions about C-RASP programs: how large they are, whether two are equal, a smaller one."""
